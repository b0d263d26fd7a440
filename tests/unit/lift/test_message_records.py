"""Log records that are one message each: lifted in any batches, their conversation is the same."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playhead.lift import lift_log, lift_logs
from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.model.thread import thread_of
from playhead.projection.log_events import with_log_content
from playhead.projection.message_records import recorded_threads

TRACE, SPAN = "ab" * 16, "cd" * 8
SENT = [("system", "Be brief."), ("user", "Rain?"), ("assistant", "In Oslo."), ("user", "And Bergen?")]


def record(role: str, text: str, time_ns: int) -> LogEvent:
    return LogEvent(f"gen_ai.{role}.message", time_ns, TRACE, SPAN, {"body": {"content": text}}, "some.library")


def choice(text: str, time_ns: int) -> LogEvent:
    body = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return LogEvent("gen_ai.choice", time_ns, TRACE, SPAN, {"body": body}, "some.library")


def thread(messages: Sequence[tuple[str, str]]) -> Any:
    return thread_of([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]).ref


def on_span(logs: Sequence[LogEvent], **own: Any) -> dict[str, Any]:
    [span] = with_log_content([Span(TRACE, SPAN, None, "chat", 1, 2, dict(own))], logs)
    return span.attributes


RECORDS = [record(*message, time) for time, message in enumerate(SENT, 1)] + [choice("Everywhere.", 9)]


@given(batches=st.lists(st.lists(st.sampled_from(RECORDS), unique_by=id, max_size=5), max_size=4), order=st.randoms())
def test_any_batches_make_the_same_conversation(batches: list[list[LogEvent]], order: Any):
    every = [*batches, *([one] for one in RECORDS)]
    order.shuffle(every)
    stored = [one.log for batch in every for one in lift_logs(batch)]
    found = on_span(stored)
    assert found[names.INPUT_MESSAGES_REF] == thread(SENT)
    assert found[names.OUTPUT_MESSAGES_REF] == thread([("assistant", "Everywhere.")])
    assert found[names.FINISH_REASONS] == ["stop"]
    assert {thread(SENT), found[names.OUTPUT_MESSAGES_REF]} == set(recorded_threads(stored))


def test_the_thread_of_one_batch_is_in_the_order_of_times_and_stored_with_it():
    lifted = lift_logs([RECORDS[3], RECORDS[0], RECORDS[2], RECORDS[1]])
    assert [one.log.time_ns for one in lifted] == [4, 1, 3, 2]
    assert on_span([one.log for one in lifted])[names.INPUT_MESSAGES_REF] == thread(SENT)
    [stored] = [each for one in lifted for each in one.threads]
    assert len(stored.messages) == len(SENT)


def test_at_one_time_the_order_is_that_of_arrival_and_equal_messages_of_a_batch_count_each():
    first, second = record("user", "Go on.", 5), record("user", "Go on.", 5)
    stored = [one.log for batch in ([first, second], [record("user", "Stop.", 5)]) for one in lift_logs(batch)]
    expected = thread([("user", "Go on."), ("user", "Go on."), ("user", "Stop.")])
    assert on_span(stored)[names.INPUT_MESSAGES_REF] == expected
    assert on_span([*stored, *stored])[names.INPUT_MESSAGES_REF] == expected


def test_a_record_that_was_lifted_before_it_was_sent_counts():
    sent = [lift_log(one).log for one in RECORDS]
    assert on_span([one.log for one in lift_logs(sent)])[names.INPUT_MESSAGES_REF] == thread(SENT)


def test_what_the_span_or_a_whole_conversation_says_takes_precedence():
    stored = [one.log for one in lift_logs(RECORDS)]
    other = thread([("user", "Other")])
    assert on_span(stored, **{names.INPUT_MESSAGES_REF: other})[names.INPUT_MESSAGES_REF] == other
    details = LogEvent("gen_ai.client.inference.operation.details", 99, TRACE, SPAN, {names.INPUT_MESSAGES_REF: other})
    assert on_span([*stored, details])[names.INPUT_MESSAGES_REF] == other


def test_what_is_no_list_of_refs_is_no_conversation():
    odd = LogEvent("gen_ai.user.message", 1, TRACE, SPAN, {names.LOG_INPUT_MESSAGES: ["x", 3], "body": None})
    assert on_span([odd, LogEvent("gen_ai.choice", 1, TRACE, SPAN, {names.LOG_OUTPUT_MESSAGES: "x"})]) == {}
