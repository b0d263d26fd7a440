"""W3C `tracestate`: tells the process that does a call's work which run and which call it works for.

`traceparent` names a trace and the nearest span of any instrumentation. Our entry names the run and our own call, so
that what the other process records belongs to the same run, inside the call, whoever else has spans in between: these
pass the entry on. With its key, the entry is at most 107 characters long: entries of more than 128 are the first that
are dropped where a header grows too long.
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

    `process` and `number`: what the process that handed it on had counted last; an empty `process` is the run's own.
    `time_s`: when, in seconds since 1970.
    """

    run_id: str
    attempt: int
    span_id: int
    process: str
    number: int
    time_s: int


def with_call(context: SpanContext, call: HandedCall, others: TraceState | None = None) -> SpanContext:
    """The span context with our entry before those of `others` in its trace state. Of 32 of these, the last is left
    out."""
    entry = f"{call.run_id}-{call.attempt}-{call.span_id:016x}-{call.process}-{call.number}-{call.time_s}"
    kept = [] if others is None else [(key, value) for key, value in others.items() if key != KEY]
    state = TraceState([(KEY, entry), *kept[: _MAX_MEMBERS - 1]])
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags, state)


def handed_call(context: SpanContext) -> HandedCall | None:
    """The call that a span context names; None when it names none, or the entry is malformed."""
    state = context.trace_state
    entry = state.get(KEY) if state else None
    return None if entry is None else _read(entry)


def _read(entry: str) -> HandedCall | None:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        return None
    run_id, attempt, span_id, process, number, time_s = found.groups()
    if run_id == _NO_RUN or not int(span_id, 16):
        return None
    return HandedCall(run_id, int(attempt), int(span_id, 16), process or "", int(number), int(time_s))
