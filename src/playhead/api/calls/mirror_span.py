"""Twins: where the program has a tracer provider of its own, each observed call has a span there as well.

Same ids, same attributes; that provider's sampler decides, and its exporters see what they would expect.  It is never
replaced, and never made.  Spans that other instrumentation starts inside a run get its id, so that a collector which
is sent them, too, knows whose they are, and counts a model call once that two instrumentations tell of.
"""

from typing import Any, cast
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import SpanKind, Status, StatusCode

from playhead.api.calls.grouping import run_of_trace
from playhead.api.calls.span import ObservedSpan
from playhead.api.forks import fork_safe_lock
from playhead.api.guard import swallowed
from playhead.api.ports import place
from playhead.model import names
from playhead.model.objects.interrupts import let_through

_KINDS = {"llm": SpanKind.CLIENT}


def provider() -> TracerProvider | None:
    """The program's own, if it has one."""
    # The public way reads the environment each time while there is none, which costs more than the rest of a span.
    found: Any = trace._TRACER_PROVIDER  # pyright: ignore[reportPrivateUsage]
    return found if found is not None and isinstance(found, TracerProvider) else None


class _Follows(SpanProcessor):
    """Writes the run's id on spans that start inside a run, and journals the span that is around a run of calls."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """The parent is an observed call, or a span that was started in one."""
        try:
            above = trace.get_current_span(parent_context)
            if isinstance(above, ObservedSpan):
                run = above.run.id
            else:
                run = cast("dict[str, str]", cast(Any, above).attributes or {}).get(names.RUN_ID)
            if run is not None:
                span.set_attribute(names.RUN_ID, run)
        except AttributeError:  # a span of another make
            return

    def on_end(self, span: ReadableSpan) -> None:
        """What a run of calls without an agent is called, and when and how it ended, its outermost span says."""
        context, parent, to = span.context, span.parent, place.recorder
        if context is None or to is None or not (parent is None or parent.is_remote):
            return
        try:
            run = run_of_trace(context.trace_id)
            if run is not None and run.recorded:
                above = f"{parent.span_id:016x}" if parent is not None else None
                ids = f"{context.trace_id:032x}", f"{context.span_id:016x}", above
                times = span.start_time, span.end_time
                status = span.status.status_code.value, to.text(span.status.description or "")
                said = {names.RUN_ID: run.id}
                frames = to.frames()
                frames.new = {}
                to.end([*ids, span.name, span.kind.value + 1, *times, *status, said, (), ()], frames)
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed("record the span around calls", error)


_named: WeakSet[TracerProvider] = WeakSet()
_mutex = fork_safe_lock()


def _name_runs(of: TracerProvider) -> None:
    with _mutex:
        if of in _named:
            return
        _named.add(of)
    try:
        of.add_span_processor(_Follows())
    except BaseException as error:  # noqa: BLE001 - the guard: a provider of the program's own making
        let_through(error)
        swallowed("name the run on other spans", error)


def start(of: TracerProvider, span: ObservedSpan, where: Context) -> None:
    """Gives the span a twin, and the ids of it; a run is recorded if the twin of its root is, or always."""
    if of not in _named:
        _name_runs(of)
    kind = _KINDS.get(span.kind, SpanKind.INTERNAL)
    tracer = of.get_tracer(names.SCOPE)
    twin = tracer.start_span(span.name, where, kind, span.attributes, start_time=span.start_ns)
    context = twin.get_span_context()
    if not span.run.is_decided and not span.recorder.always and span.run.replay is None:
        span.run.recorded = twin.is_recording()
    # A provider that is switched off answers with the span above.
    if context.is_valid and context.span_id != span.parent_id:
        span.twin, span.trace_id, span.span_id = twin, context.trace_id, context.span_id


def end(span: ObservedSpan, twin: trace.Span) -> None:
    """Ends the twin as the span ended."""
    twin.set_attributes(span.attributes)
    for name, time_ns, attributes in span.events or ():
        twin.add_event(name, attributes, time_ns)
    if span.status:
        code = StatusCode(span.status)
        twin.set_status(Status(code, span.status_message if code is StatusCode.ERROR else None))
    twin.end(span.end_ns)
