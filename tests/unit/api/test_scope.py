"""`run()` and what a program can say inside a run."""

import re
import threading
from datetime import timedelta
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.model import names
from tests.support.journal_reader import Recording, kind

pytestmark = pytest.mark.usefixtures("quiet")


def test_a_run_is_an_agent_with_an_id_that_sorts_by_time(recording: Recording):
    with playhead.run("support", session="s", user="u", tags=["a", "b"], metadata={"x": 1}) as run:
        assert playhead.current_run_id() == run.id
    seen = recording.read()
    root = seen.call("support")
    assert kind(root) == "agent"
    assert root.attributes[names.RUN_ID] == run.id
    assert re.fullmatch(r"[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}", run.id or "")
    assert (root.attributes[names.RUN_NAME], root.attributes[names.RUN_TAGS]) == ("support", ["a", "b"])
    assert seen.value(root, names.RUN_METADATA_REF) == {"x": 1}
    assert playhead.current_run_id() is None


@pytest.mark.parametrize("week", [604_800, timedelta(days=7)])
def test_a_run_says_how_long_its_session_is_kept(recording: Recording, week: float | timedelta):
    with playhead.run("support", session="s", retention=week):
        pass

    @observe(session="s", retention=week)
    def agent() -> None: ...

    agent()
    seen = recording.read()
    assert [seen.call(name).attributes[names.RUN_RETENTION] for name in ("support", "agent")] == [604_800] * 2


@pytest.mark.parametrize("wrong", [3_599, timedelta(days=31), -1, "1h", True, float("nan"), [1]])
def test_a_retention_out_of_bounds_is_ignored_with_a_warning(
    recording: Recording, wrong: Any, caplog: pytest.LogCaptureFixture
):
    with playhead.run("support", session="s", retention=wrong):
        pass
    assert names.RUN_RETENTION not in recording.read().call("support").attributes
    assert "from 3600 (an hour) to 2592000 (30 days)" in caplog.text
    caplog.clear()


def test_a_run_inside_a_run_is_an_agent_of_it(recording: Recording):
    with playhead.run("outer") as outer, playhead.run("inner", session="ignored") as inner:
        assert outer.id == inner.id
    seen = recording.read()
    assert seen.parent("inner") == "outer"
    assert names.CONVERSATION not in seen.call("inner").attributes


def test_input_and_output_can_be_said(recording: Recording):
    with playhead.run("r") as run:
        run.input("task")
        run.output({"answer": 42})
    seen = recording.read()
    assert (seen.input("r"), seen.output("r")) == ("task", {"answer": 42})


def test_an_exception_goes_on_and_is_recorded(recording: Recording):
    with pytest.raises(ValueError, match="x"), playhead.run("r"):
        raise ValueError("x")
    assert recording.read().call("r").status == 2


async def test_a_run_may_be_asynchronous(recording: Recording):
    async with playhead.run("r"):
        pass
    assert recording.read().call("r").status == 0


def test_changes_of_state_are_recorded_in_order(recording: Recording):
    with playhead.run("r") as run:
        run.state["plan"] = ["a"]
        run.state["plan"] = ["b"]
        del run.state["plan"]
        run.state.update(x=1)
        assert dict(run.state) == {"x": 1}
        assert len(run.state) == 1
    seen = recording.read()
    changes = [
        (log.attributes[names.STATE_KEY], names.VALUE_REF in log.attributes and seen.value(log, names.VALUE_REF))
        for log in seen.logs
    ]
    assert changes == [("plan", ["a"]), ("plan", ["b"]), ("plan", False), ("x", 1)]
    assert [log.attributes[names.CALL_ORDER] for log in seen.logs] == [2, 3, 4, 5]


def test_a_thread_may_change_the_runs_state(recording: Recording):
    with playhead.run("r") as run:
        thread = threading.Thread(target=lambda: run.state.update(x=1))
        thread.start()
        thread.join()
    [log] = recording.read().logs
    assert log.attributes[names.RUN_ID] == run.id


def test_what_is_said_belongs_to_the_innermost_call(recording: Recording):
    @observe
    def inner() -> None:
        playhead.annotate(decision="refund", reason="late", alternatives=["deny"], sure=0.9)
        playhead.handoff("TechLead", reason="technical")
        playhead.checkpoint(state={"todo": 1}, name="before")

    with playhead.run("r"):
        inner()
    seen = recording.read()
    span = seen.call("inner")
    assert {log.span_id for log in seen.logs} == {span.span_id}
    said = {log.name: log for log in seen.logs}
    assert seen.value(said[names.ANNOTATION], names.ANNOTATION_REF) == {
        "decision": "refund",
        "reason": "late",
        "alternatives": ["deny"],
        "sure": 0.9,
    }
    assert said[names.HANDOFF].attributes[names.HANDOFF_TO] == "TechLead"
    assert seen.value(said[names.HANDOFF], names.REASON_REF) == "technical"
    assert seen.value(said[names.CHECKPOINT], names.STATE_REF) == {"todo": 1}


def test_a_plan_is_said_by_itself_and_beside_a_decision(recording: Recording):
    with playhead.run("r"):
        playhead.annotate(plan=["look up the order", {"text": "refund it", "tool": "refund"}])
        playhead.annotate(decision="refund", plan=["refund"])
        playhead.annotate(note="by the way")
    seen = recording.read()
    plans = [seen.value(log, names.PLAN_REF) for log in seen.logs if log.name == names.PLAN]
    assert plans == [["look up the order", {"text": "refund it", "tool": "refund"}], ["refund"]]
    notes = [seen.value(log, names.ANNOTATION_REF) for log in seen.logs if log.name == names.ANNOTATION]
    assert notes == [{"decision": "refund"}, {"note": "by the way"}]


def test_outside_a_run_nothing_is_said_and_nothing_fails(recording: Recording):
    playhead.annotate(decision="x", plan=["y"])
    playhead.compressed(before=[{"role": "user", "content": "x"}], after=[])
    playhead.checkpoint()
    playhead.handoff("x")
    assert playhead.current_run_id() is None
    assert recording.read().logs == []


def test_a_checkpoint_is_in_the_journal_when_it_returns(recording: Recording):
    with playhead.run("r"):
        playhead.checkpoint(state="here")
        [log] = recording.read().logs
        assert recording.read().value(log, names.STATE_REF) == "here"


def test_odd_names_are_texts(recording: Recording):
    odd: Any = 5
    with playhead.run("r") as run:
        run.state[odd] = 1
        playhead.handoff(odd)
    first, second = recording.read().logs
    assert (first.attributes[names.STATE_KEY], second.attributes[names.HANDOFF_TO]) == ("5", "5")


def test_propagate_keeps_the_functions_name_and_result(recording: Recording):
    @observe
    def work(x: int) -> int:
        return x

    with playhead.run("r"):
        bound = playhead.propagate_to_thread(work)
    assert bound.__name__ == "work"
    assert bound(3) == 3
    assert recording.read().parent("work") == "r"
