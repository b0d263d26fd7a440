"""Which part of a record counts where attempts at a run did not know of each other."""

from typing import Any

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.replaying.record import KnownPart, LocalRecord


def call(attempt: int, order: int) -> Span:
    said: dict[str, Any] = {names.RUN_ATTEMPT: attempt, names.CALL_ORDER: order}
    return Span("t" * 32, f"{attempt:08d}{order:08d}", None, "call", 1, 2, said)


def resumed(attempt: int, order: int, after: int | None) -> LogEvent:
    said = {names.RUN_ATTEMPT: attempt, names.CALL_ORDER: order}
    said |= {} if after is None else {names.RESUMED_AFTER: after}
    return LogEvent(names.RESUMED, 1, None, None, said)


def known(spans: list[Span], logs: list[LogEvent]) -> list[tuple[int, int]]:
    part = KnownPart(LocalRecord(spans=spans, logs=logs))
    return [(span.attributes[names.RUN_ATTEMPT], span.attributes[names.CALL_ORDER]) for span in part.spans]


def test_attempts_that_follow_each_other_count_whole():
    spans = [call(0, 1), call(0, 2), call(1, 4), call(2, 6)]
    logs = [resumed(1, 3, 0), resumed(2, 5, 1)]
    assert known(spans, logs) == [(0, 1), (0, 2), (1, 4), (2, 6)]


def test_what_was_not_known_to_who_took_the_run_over_is_left_out():
    # The second attempt was made where nothing was known of the first's calls 3 and 4.
    spans = [call(0, 1), call(0, 2), call(0, 3), call(0, 4), call(1, 4)]
    assert known(spans, [resumed(1, 3, 0)]) == [(0, 1), (0, 2), (1, 4)]


def test_an_attempt_of_which_the_latest_one_had_not_known_is_left_out():
    spans = [call(0, 1), call(0, 2), call(1, 4), call(2, 5), call(3, 6)]
    logs = [resumed(1, 3, 0), resumed(2, 2, 0), resumed(3, 5, 1)]
    assert known(spans, logs) == [(0, 1), (0, 2), (1, 4), (3, 6)]


def test_attempts_that_do_not_say_what_they_follow_count_whole():
    spans = [call(0, 1), call(0, 2), call(1, 2), call(2, 3)]
    assert known(spans, [resumed(1, 2, None), resumed(2, 3, None)]) == [(0, 1), (0, 2), (1, 2), (2, 3)]
    assert known(spans, []) == [(0, 1), (0, 2), (1, 2), (2, 3)]


def test_log_events_count_like_calls():
    said = {names.CALL_ORDER: 7}
    left_out = LogEvent(names.CHECKPOINT, 1, None, None, said)
    kept = LogEvent(names.CHECKPOINT, 1, None, None, {**said, names.RUN_ATTEMPT: 1})
    logs = [left_out, resumed(1, 3, 0), kept]
    assert KnownPart(LocalRecord(spans=[call(1, 4)], logs=logs)).logs == logs[1:]
