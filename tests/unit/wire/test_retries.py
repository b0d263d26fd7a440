from playhead.wire.retries import ProblemReporter


def test_a_problem_is_reported_once_per_cause():
    reported: list[str] = []
    problems = ProblemReporter(reported.append)
    for cause, sentence in [("down", "it is down"), ("down", "still down"), ("denied", "wrong key")]:
        problems.warn_once_per_cause(cause, sentence)
    assert reported == ["it is down", "wrong key"]
