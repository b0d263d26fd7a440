"""What the context of an observed call says when the program hands it on: with OpenTelemetry's `inject`, or by an
instrumentation that makes a span below the call and injects that one's context.

Whoever reads the context may be in this process: a queue, a test's client. Its call is then found here.
"""

import time
from collections.abc import Mapping
from typing import Any, Protocol
from weakref import WeakValueDictionary

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, TraceState

from playhead.api.calls.trace_state import HandedCall, with_call
from playhead.api.run import ActiveRun
from playhead.model import names


class CallSpan(Protocol):
    """What is asked of `calls.span.ObservedSpan` here."""

    @property
    def run(self) -> ActiveRun: ...
    @property
    def span_id(self) -> int: ...
    @property
    def end_ns(self) -> int | None: ...
    @property
    def enclosing(self) -> "CallSpan | None": ...
    @property
    def silent(self) -> bool: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def mirror(self) -> trace.Span | None: ...
    @property
    def outer(self) -> Context | None: ...


_calls: WeakValueDictionary[int, CallSpan] = WeakValueDictionary()
_runs: WeakValueDictionary[tuple[str, int], ActiveRun] = WeakValueDictionary()


def handed_on(span: CallSpan, context: SpanContext) -> SpanContext:
    """The context of an observed call, with the entry that names the call and its run; as it is where the run is not
    recorded, or only gives its results again."""
    run = span.run
    if not run.recorded or (run.replay is not None and run.replay.had_completed):
        return context
    known = _recorded_call(span)
    _calls[known.span_id], _runs[run.id, run.attempt] = known, run
    process, number = counted_last(run, known)
    call = HandedCall(run.id, run.attempt, known.span_id, process, number, int(time.time()))
    # With a provider of the program's, OpenTelemetry has carried on what others have said.
    return with_call(context, call, context.trace_state if span.mirror is not None else _state_outside(span))


def call_of_this_process(call: HandedCall) -> CallSpan | None:
    """The call, if this process has handed it on and it has not ended."""
    found = _calls.get(call.span_id)
    return found if found is not None and found.run.id == call.run_id and found.end_ns is None else None


def run_of_this_process(call: HandedCall) -> ActiveRun | None:
    """The run of the call, if this process has handed on a call of it and still has it."""
    return _runs.get((call.run_id, call.attempt))


def counted_last(run: ActiveRun, span: CallSpan) -> tuple[str, int]:
    """What was counted last where this call is current: the process, and its number."""
    if run.last:
        return run.process or "", run.last
    after = run.forked_after or span.attributes.get(names.PROCESS_AFTER)  # this process has counted nothing yet
    process, _, number = str(after or "").partition("#")
    return (process, int(number)) if number.isdecimal() else ("", 0)


def _state_outside(span: CallSpan) -> TraceState | None:
    """The trace state that the run, or this process's part of it, was begun with."""
    while span.enclosing is not None:
        span = span.enclosing
    return None if span.outer is None else trace.get_current_span(span.outer).get_span_context().trace_state


def _recorded_call(span: CallSpan) -> CallSpan:
    """The nearest call that the record has under its id: a resumed run does not announce again what it has."""
    while span.silent and span.enclosing is not None:
        span = span.enclosing
    return span
