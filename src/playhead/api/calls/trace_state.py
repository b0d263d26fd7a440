"""W3C `tracestate`: tells the process that does a call's work which run and which call it works for.

`traceparent` names a trace and the nearest span of any instrumentation. Our entry names the run and our own span, so
that what the other process records belongs to the same run, inside the call, whoever else has spans in between.
"""

import re
from dataclasses import dataclass

from opentelemetry.trace import SpanContext

KEY = "playhead"
_ENTRY = re.compile(r"([0-9a-f]{32})-(\d{1,9})-([0-9a-f]{32})-([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A call of another process that this process does the work of."""

    run_id: str
    attempt: int
    trace_id: int
    span_id: int


def with_call(context: SpanContext, run_id: str, attempt: int) -> SpanContext:
    """The span context with our entry added to its trace state."""
    entry = f"{run_id}-{attempt}-{context.trace_id:032x}-{context.span_id:016x}"
    state = context.trace_state.update(KEY, entry)
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags, state)


def remote_call(header: object) -> RemoteCall | None:
    """The call that a `tracestate` header names; None when it names none, or is malformed."""
    if not isinstance(header, str):
        return None
    for member in header.split(","):
        key, _, value = member.strip().partition("=")
        found = _ENTRY.fullmatch(value) if key == KEY else None
        if found is not None:
            run_id, attempt, trace_id, span_id = found.groups()
            return RemoteCall(run_id, int(attempt), int(trace_id, 16), int(span_id, 16))
    return None
