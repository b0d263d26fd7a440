"""Adds run and call to the span context that a program hands on: with OpenTelemetry's `inject`, or by an
instrumentation that makes a span below the call and injects that span's context.

The receiver may be in this process (a queue, a test's client); it then finds the call here.
"""

import time
from collections.abc import Mapping
from typing import Any, Protocol
from weakref import WeakValueDictionary

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, TraceState

from playhead.calls.run import ActiveRun
from playhead.calls.trace_state import HandedCall, with_call
from playhead.model import names


class CallSpan(Protocol):
    """The part of `calls.span.ObservedSpan` that this module uses."""

    @property
    def run(self) -> ActiveRun: ...
    @property
    def span_id(self) -> int: ...
    @property
    def end_ns(self) -> int | None: ...
    @property
    def enclosing(self) -> "CallSpan | None": ...
    @property
    def is_replayed(self) -> bool: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def mirror(self) -> trace.Span | None: ...
    @property
    def outer(self) -> Context | None: ...


_calls: WeakValueDictionary[int, CallSpan] = WeakValueDictionary()
_runs: WeakValueDictionary[tuple[str, int], ActiveRun] = WeakValueDictionary()


def handed_on(span: CallSpan, context: SpanContext) -> SpanContext:
    """Returns the span context with a trace state entry that names the call and its run. Returns it unchanged if the
    run is not recorded, or is a completed run that is only replayed."""
    run = span.run
    if not run.recorded or (run.replay is not None and run.replay.had_completed):
        return context
    recorded_call = _recorded_call(span)
    _calls[recorded_call.span_id], _runs[run.id, run.attempt] = recorded_call, run
    process, number = counted_last(run, recorded_call)
    call = HandedCall(run.id, run.attempt, recorded_call.span_id, process, number, int(time.time()))
    # If the program has a provider, the mirror span's context already has the trace state of others.
    return with_call(context, call, context.trace_state if span.mirror is not None else _state_outside(span))


def call_of_this_process(call: HandedCall) -> CallSpan | None:
    """Returns the call, if this process has handed it on and it is still open; else None."""
    span = _calls.get(call.span_id)
    return span if span is not None and span.run.id == call.run_id and span.end_ns is None else None


def run_of_this_process(call: HandedCall) -> ActiveRun | None:
    """Returns the run of the call, if this process has handed on a call of it and the run is still in memory; else
    None."""
    return _runs.get((call.run_id, call.attempt))


def counted_last(run: ActiveRun, span: CallSpan) -> tuple[str, int]:
    """Returns a process id, and the last number that this process had counted in the run before this point. An empty id
    is the process that began the run."""
    if run.last:
        return run.process or "", run.last
    after = run.forked_after or span.attributes.get(names.PROCESS_AFTER)  # this process has counted nothing yet
    process, _, number = str(after or "").partition("#")
    return (process, int(number)) if number.isdecimal() else ("", 0)


def _state_outside(span: CallSpan) -> TraceState | None:
    """Returns the trace state of the context in which the run, or this process's part of it, began; None without
    one."""
    while span.enclosing is not None:
        span = span.enclosing
    return None if span.outer is None else trace.get_current_span(span.outer).get_span_context().trace_state


def _recorded_call(span: CallSpan) -> CallSpan:
    """Returns the nearest enclosing call whose id is in the record: calls that a resumed run does not announce again
    have ids that are never written."""
    while span.is_replayed and span.enclosing is not None:
        span = span.enclosing
    return span
