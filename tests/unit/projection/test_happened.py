"""What happened in a run, in one line: the last moment of its events."""

from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.projection.happened import LastMoment, MomentsSoFar, one_line

MESSAGE, OTHER = ContentRef.of(b"message"), ContentRef.of(b"other")


def happened(status: str, *events: Any) -> LastMoment | None:
    """`events`: the class, and its fields; all of the agent `support`, unless they say another."""
    moments = MomentsSoFar()
    for seq, (cls, fields) in enumerate(events, 1):
        head = {"id": str(seq), "run": "r", "seq": seq, "time_ns": seq, "actor": "support"} | fields
        moments.add(cls(**head))
    return moments.last(status)


def model(span: str, message: ContentRef | None = None, *reasons: str, **more: Any) -> list[Any]:
    """A model call, ended if it has a message."""
    called = [(ev.LlmCalled, {"span": span, "model": "gpt-4o"} | more)]
    if message is None:
        return called
    answer = {"span": span, "role": "assistant", "source": "output", "message": message} | more
    return [*called, (ev.LlmCompleted, {"span": span, "finish_reasons": reasons} | more), (ev.MessageAdded, answer)]


def test_nothing_happened_in_a_run_without_events():
    for status in ("running", "completed", "failed", "cancelled", "lost"):
        assert happened(status) is None


def test_the_last_answer_is_that_of_a_model():
    events = [*model("a", MESSAGE, "stop"), *model("b", OTHER, "stop"), (ev.RunCompleted, {"elapsed_ms": 1})]
    assert happened("completed", *events) == LastMoment("answer", 5, 2, "support", ref=str(OTHER))


@pytest.mark.parametrize("reason", ["tool_calls", "tool_use"])
def test_a_request_for_tools_is_no_answer_if_there_is_another(reason: str):
    events = [*model("a", MESSAGE, "stop"), *model("b", OTHER, reason)]
    assert happened("completed", *events) == LastMoment("answer", 2, 1, "support", ref=str(MESSAGE))
    assert happened("completed", *model("b", OTHER, reason)) == LastMoment("answer", 2, 1, "support", ref=str(OTHER))


def test_what_a_run_without_models_returned_is_its_answer():
    ended = (ev.RunCompleted, {"elapsed_ms": 1, "output": OTHER})
    assert happened("completed", ended) == LastMoment("answer", 1, None, "support", ref=str(OTHER))
    moment = happened("completed", *model("a", MESSAGE, "stop"), ended)
    assert moment is not None
    assert moment.ref == str(MESSAGE)


def test_an_error_is_that_of_the_innermost_call_that_raised_it():
    error = {"error_type": "Timeout", "message": "no\n answer"}
    events = [
        *model("a", MESSAGE, "tool_calls"),
        (ev.ToolCalled, {"span": "t", "name": "search"}),
        (ev.ToolFailed, {"span": "t", "name": "search"} | error),
        (ev.StepCompleted, {"span": "s", "name": "helper", "step_kind": "agent"} | error),
        (ev.RunFailed, {"elapsed_ms": 1} | error),
    ]
    assert happened("failed", *events) == LastMoment("error", 5, 1, "search", "Timeout: no answer")


def test_an_error_of_the_run_s_own_code_is_about_no_call():
    handled = {"error_type": "Timeout", "message": "once"}
    events = [
        (ev.ToolCalled, {"span": "t", "name": "search"}),
        (ev.ToolFailed, {"span": "t", "name": "search"} | handled),
        (ev.RunFailed, {"elapsed_ms": 1, "error_type": "ValueError"}),
    ]
    assert happened("failed", *events) == LastMoment("error", 3, text="ValueError")


def test_a_resumed_run_has_the_error_of_its_last_attempt():
    failed = (ev.RunFailed, {"elapsed_ms": 1, "error_type": "E", "message": "one"})
    again = [failed, (ev.RunResumed, {"attempt": 1}), *model("a", MESSAGE, "stop")]
    assert happened("failed", *again) is None
    assert happened("failed", *again, failed) == LastMoment("error", 6, text="E: one")
    assert happened("completed", *again) == LastMoment("answer", 4, 1, "support", ref=str(MESSAGE))


def test_a_cancelled_run_has_no_error():
    cancelled = {"elapsed_ms": 1, "error_type": "CancelledError", "outcome": "cancelled"}
    assert happened("cancelled", (ev.RunFailed, cancelled)) is None


def test_the_call_that_began_last_is_under_way():
    events = [*model("a"), *model("b", actor="other"), (ev.ToolCalled, {"span": "t", "name": "search"})]
    assert happened("running", *events) == LastMoment("under_way", 3, 1, "search", "search")
    done = (ev.ToolCompleted, {"span": "t", "name": "search"})
    assert happened("running", *events, done) == LastMoment("under_way", 2, 2, "gpt-4o", "gpt-4o")


def test_a_question_stands_until_it_is_answered():
    asks = [
        (ev.ApprovalRequested, {"approval": "p1", "tool": "refund", "action": "refund 20 €"}),
        (ev.InputRequested, {"wait": "p2", "prompt": OTHER}),
    ]
    question = LastMoment("question", 1, None, "refund", "refund 20 €", promise="p1")
    other = LastMoment("question", 2, None, None, ref=str(OTHER), promise="p2")
    assert happened("running", *asks) == other
    assert happened("running", *asks, (ev.InputReceived, {"wait": "p2"})) == question
    assert happened("running", *asks, (ev.ApprovalGranted, {"approval": "p1"})) == other
    assert happened("running", *asks, (ev.InputReceived, {"wait": None})) == other  # the oldest, as nothing is said
    assert happened("completed", *asks, (ev.RunCompleted, {"elapsed_ms": 1})) is None


def test_one_line_is_short():
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("x" * 300) == "x" * 300
    assert one_line("x" * 301) == "x" * 299 + "…"
    assert one_line("x " * 10_000) == ("x " * 150)[:299] + "…"
