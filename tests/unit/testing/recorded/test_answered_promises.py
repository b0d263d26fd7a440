"""`playhead_recorder.approve`, `deny` and `answer`: a test never waits for a person."""

import asyncio

import pytest

import playhead
from playhead import Denied, Suspended, Unanswered, observe
from playhead.errors import Conflict, NotFound
from playhead.testing.recorder import RunRecorder


@observe(kind="tool", approval="always")
def refund(order: str, amount: int) -> int:
    return amount


@observe(kind="tool", approval="always")
async def cancel(order: str) -> str:
    return order


def test_a_tool_that_needs_approval_runs_when_the_test_approves(playhead_recorder: RunRecorder):
    playhead_recorder.deny("refund", details={"amount": 500}, by="Ada", reason="too much")
    playhead_recorder.approve("refund", by="Eve")
    playhead_recorder.approve("run cancel")
    with playhead.run("support"):
        assert refund("A1", 20) == 20
        with pytest.raises(Denied, match="Ada has denied 'run refund': too much"):
            refund("A1", 500)
        assert asyncio.run(cancel("A1")) == "A1"
    kinds = [event.kind for event in playhead_recorder.last.events if "approval" in event.kind]
    assert kinds == [
        "approval_requested", "approval_granted", "approval_requested", "approval_denied", "approval_requested",
        "approval_granted",
    ]  # fmt: skip
    outcomes = [promise["answer"] and promise["answer"]["outcome"] for promise in playhead_recorder.promises]
    assert outcomes == ["approved", "denied", "approved"]


def test_answers_are_given_as_often_as_they_are_said_in_their_order(playhead_recorder: RunRecorder):
    playhead_recorder.answer("Which branch?", "main", times=1)
    playhead_recorder.answer("Which branch?", "next", times=1)
    playhead_recorder.answer("payment", 20, key="A1")
    playhead_recorder.answer("payment", 30, key="A2")
    playhead_recorder.answer(None, "anything")
    with playhead.run("questions"):
        assert [playhead.ask("Which branch?") for _ in range(3)] == ["main", "next", "anything"]
        assert (playhead.wait_for("payment", key="A2"), playhead.wait_for("payment", key="A1")) == (30, 20)


def test_the_time_can_run_out_at_once(playhead_recorder: RunRecorder):
    playhead_recorder.expire("delete", times=1)
    playhead_recorder.approve("delete")
    with pytest.raises(Unanswered):
        playhead.approval("delete", timeout=3600)
    assert playhead.approval("delete", timeout=3600)["outcome"] == "approved"


def test_a_program_that_suspends_ends_and_goes_on_with_an_answer(playhead_recorder: RunRecorder):
    with pytest.raises(Suspended) as suspended:
        playhead.approval("clean up", key="nightly", suspend=True)
    [asked] = playhead.open_promises()
    assert asked["id"] == suspended.value.promise
    playhead.approve(asked, by="Eve")
    assert playhead.approval("clean up", key="nightly", suspend=True)["by"] == "Eve"
    with pytest.raises(Conflict):
        playhead.deny(asked)
    with pytest.raises(NotFound):
        playhead.deny("0" * 32)


def test_until_it_waits_leaves_the_program_where_it_waits(playhead_recorder: RunRecorder):
    with playhead_recorder.until_it_waits(), playhead.run("support"):
        refund("A1", 20)
        raise AssertionError("it went on")
    assert (playhead_recorder.last.status, playhead_recorder.last.tool_calls) == ("running", [])
    playhead_recorder.approve()

    def approved() -> None:
        with playhead_recorder.until_it_waits():
            refund("A1", 20)
            raise AssertionError("it went on")

    with pytest.raises(AssertionError, match="it went on"):
        approved()


def test_until_it_waits_needs_a_program_that_waits(playhead_recorder: RunRecorder):
    with pytest.raises(AssertionError, match="waited for nobody"), playhead_recorder.until_it_waits():
        pass
    with pytest.raises(KeyError), playhead_recorder.until_it_waits():
        raise KeyError("the program failed")


def test_a_test_fails_instead_of_waiting(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import asyncio
        import playhead

        @playhead.observe(kind="tool", approval="always")
        def refund(amount):
            return amount

        def test_tool(playhead_recorder):
            refund(20)

        def test_program_that_catches_everything(playhead_recorder):
            try:
                refund(20)
            except BaseException:
                pass

        def test_question(playhead_recorder):
            playhead_recorder.approve()
            asyncio.run(playhead.ask_async("Which branch?"))

        def test_event(playhead_recorder):
            playhead.wait_for("payment", key="A1", timeout=3600)

        def test_answered(playhead_recorder):
            playhead_recorder.approve()
            assert refund(20) == 20
        """
    )
    done = pytester.runpytest_inprocess("-p", "no:asyncio")
    done.assert_outcomes(failed=4, passed=1)
    done.stdout.fnmatch_lines_random(
        [
            "*waits for 'run refund' (with {'amount': 20}), and the test does not answer that*approve('run refund')*",
            "*playhead_recorder.answer('Which branch[?]', VALUE)*",
            "*playhead_recorder.answer('payment', VALUE, key='A1')*",
        ]
    )
