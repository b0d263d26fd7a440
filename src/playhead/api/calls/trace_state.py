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
        if key == KEY and (found := _call_of(value)) is not None:
            return found
    return None


def call_around(context: SpanContext) -> RemoteCall | None:
    """The call that the context of a span in another process names, or None."""
    return _call_of(context.trace_state.get(KEY, ""))


def _call_of(entry: str) -> RemoteCall | None:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        return None
    run_id, attempt, trace_id, span_id = found.groups()
    return RemoteCall(run_id, int(attempt), int(trace_id, 16), int(span_id, 16))
