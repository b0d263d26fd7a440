"""Writes and reads our entry in W3C `tracestate`, which tells another process for which run and call it works.

`traceparent` names a trace and the nearest span of any instrumentation. Our entry names the run and our own call, so
the other process can record into the same run, inside that call. Instrumentations with spans in between pass the entry
on. With its key it has at most 107 characters: when a header grows too long, entries above 128 are dropped first.
"""

import re
from dataclasses import dataclass

from opentelemetry.trace import SpanContext, TraceState

KEY = "playhead"
_MAX_MEMBERS = 32
_NO_RUN = "0" * 32
_ENTRY = re.compile(r"([0-9a-f]{32})-(\d{1,9})-([0-9a-f]{16})-([0-9a-f]{16})?-(\d{1,9})-(\d{1,11})")


@dataclass(frozen=True, slots=True)
class HandedCall:
    """A call whose work is handed on to another process.

    `process` and `number`: the last number that the sending process had counted; an empty `process` is the one that
    began the run. `time_s`: when the call was handed on, in seconds since 1970.
    """

    run_id: str
    attempt: int
    span_id: int
    process: str
    number: int
    time_s: int


def with_call(context: SpanContext, call: HandedCall, others: TraceState | None = None) -> SpanContext:
    """Returns the span context with a trace state of our entry, then the entries of `others`, at most 32 in all."""
    entry = f"{call.run_id}-{call.attempt}-{call.span_id:016x}-{call.process}-{call.number}-{call.time_s}"
    entries = [] if others is None else [(key, value) for key, value in others.items() if key != KEY]
    state = TraceState([(KEY, entry), *entries[: _MAX_MEMBERS - 1]])
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags, state)


def handed_call(context: SpanContext) -> HandedCall | None:
    """Returns the call that a span context names; None if it has no entry of ours, or a malformed one."""
    state = context.trace_state
    entry = state.get(KEY) if state else None
    return None if entry is None else _read(entry)


def _read(entry: str) -> HandedCall | None:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        return None
    run_id, attempt, span_id, process, number, time_s = match.groups()
    if run_id == _NO_RUN or not int(span_id, 16):
        return None
    return HandedCall(run_id, int(attempt), int(span_id, 16), process or "", int(number), int(time_s))
