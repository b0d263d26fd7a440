"""A run remembers the latest model responses, and not more of them than its memory allows."""

from playhead.calls.run import ActiveRun


def test_the_oldest_responses_of_an_endless_run_are_forgotten():
    run = ActiveRun()

    for number in range(5_000):
        run.remember_response(f"r{number}", number)

    assert run.responses["r4999"] == 4999
    assert "r0" not in run.responses
    assert len(run.responses) == 4096
