"""Mirror spans: if the program has a tracer provider of its own, each observed call also gets a span there.

The mirror has the same ids and attributes, and a link to the run. The provider's sampler decides whether a run is
recorded, and its exporters get the spans that they expect. The provider is never replaced. Where the program has none,
ours gets mirror spans if `OTEL_TRACES_EXPORTER` asks for an exporter (`Runtime.exporting_provider`). It is not global.
Spans that other instrumentations start inside a run get the run's id: a collector then knows their run, and counts a
model call once even if two instrumentations record it.
"""

from typing import Any, cast
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode

from playhead.calls import runtime
from playhead.calls.grouping import forget_span, note_span, run_around_span
from playhead.calls.joining import joined_run
from playhead.calls.span import ObservedSpan
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import guarded, warn_once
from playhead.kernel.opentelemetry_sdk import ReadableSpan, Span, SpanProcessor, TracerProvider
from playhead.model import names

_KINDS = {"llm": SpanKind.CLIENT}


def program_provider() -> TracerProvider | None:
    """Returns the program's own tracer provider, or None. Never raises."""
    try:
        provider = None if _NamedProvider.is_ignored else trace.get_tracer_provider()
    except (OSError, MemoryError, RecursionError):  # too few descriptors, memory or stack to look: asked again
        return None
    except Exception as error:  # noqa: BLE001 - it does not exist, or raises
        ignore_named_provider(error)
        return None
    return provider if isinstance(provider, TracerProvider) else None


def mirror_provider() -> TracerProvider | None:
    """Returns the provider that gets mirror spans: the program's own one, else the one that OpenTelemetry's variables
    ask for; None: neither exists. Never raises."""
    return program_provider() or runtime.current.exporting_provider


class _NamedProvider:
    """Whether the provider that OTEL_PYTHON_TRACER_PROVIDER names is ignored: OpenTelemetry would look for it anew, and
    log an error, each time it is asked."""

    is_ignored = False


def ignore_named_provider(error: Exception) -> None:
    """Warns once that what OTEL_PYTHON_TRACER_PROVIDER names cannot be used. It is not asked for again."""
    _NamedProvider.is_ignored = True
    warn_once("provider", f"OTEL_PYTHON_TRACER_PROVIDER names nothing that can be used ({error!r}): ignored here")


class _RunIdProcessor(SpanProcessor):
    """Sets the run's id on spans that start inside a run, and journals the outermost span around calls without an
    agent.
    """

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        set_run_id(span, parent_context)
        note_span(span.get_span_context(), span.parent)

    def on_end(self, span: ReadableSpan) -> None:
        with guarded("record the span around calls"):
            record_outer_span(span)
            if span.context is not None:
                forget_span(span.context)


def set_run_id(span: Span, parent_context: Context | None) -> None:
    """Sets the run's id on a span whose parent is an observed call, or a span that was started inside one."""
    try:
        above = trace.get_current_span(parent_context)
        if isinstance(above, ObservedSpan):
            run = above.run.id
        elif (run := joined_run(above.get_span_context())) is None:
            run = cast("dict[str, str]", cast(Any, above).attributes or {}).get(names.RUN_ID)
        if run is not None:
            span.set_attribute(names.RUN_ID, run)
    except AttributeError:  # a span of another library
        return


def record_outer_span(span: ReadableSpan) -> bool:
    """Journals a span that is the outermost one around calls without an agent: the run gets its name, end and status
    from it. Journals it once, however many processors call this. Returns whether it is such a span."""
    context, parent, to = span.context, span.parent, runtime.current.recorder
    if context is None or to is None or not (parent is None or parent.is_remote):
        return False
    run = run_around_span(context, is_asked_for=parent is not None)
    if run is None or not run.recorded:
        return False
    if run.outer_span != context.span_id:
        run.outer_span = context.span_id
        above = f"{parent.span_id:016x}" if parent is not None else None
        ids = f"{context.trace_id:032x}", f"{context.span_id:016x}", above
        times = span.start_time, span.end_time
        status = span.status.status_code.value, to.text(span.status.description or "")
        attributes: dict[str, Any] = {names.RUN_ID: run.id}
        if run.is_request:
            attributes |= {names.RUN_ROOT: True, names.RUN_NAME: span.name}
        frames = to.frames()
        frames.new = {}
        to.journal_end([*ids, span.name, span.kind.value + 1, *times, *status, attributes, (), ()], frames)
    return True


_prepared_providers: WeakSet[TracerProvider] = WeakSet()
_mutex = ForkSafeLock()


def add_run_id_processor() -> None:
    """Makes the program's own provider set the run's id on the spans that it starts from now on. Does nothing without
    a provider, or the second time."""
    provider = program_provider()
    if provider is not None and provider not in _prepared_providers:
        _add_run_id_processor(provider)


def _add_run_id_processor(of: TracerProvider) -> None:
    with _mutex:
        if of in _prepared_providers:
            return
        _prepared_providers.add(of)
    with guarded("name the run on other spans"):  # the program's own provider may raise anything
        of.add_span_processor(_RunIdProcessor())


def start_mirror(of: TracerProvider, span: ObservedSpan, where: Context) -> None:
    """Starts a mirror span and takes over its ids. A new run is recorded if the mirror span of its first call is
    sampled; a resumed or forked run, and every run with `PLAYHEAD_RECORD=always`, is recorded in any case."""
    if of not in _prepared_providers:
        _add_run_id_processor(of)
    kind = _KINDS.get(span.kind, SpanKind.INTERNAL)
    around = trace.get_current_span(where)
    if isinstance(around, ObservedSpan) and around.mirror is not None:
        where = trace.set_span_in_context(around.mirror, where)  # the same ids, without a trace state entry per child
    tracer = of.get_tracer(names.SCOPE)
    mirror = tracer.start_span(span.name, where, kind, span.attributes, start_time=span.start_ns)
    context = mirror.get_span_context()
    if not span.run.is_decided and not span.recorder.always and span.run.replay is None:
        span.run.recorded = mirror.is_recording()
    # A provider that is switched off returns a span with the parent's context.
    if context.is_valid and context.span_id != span.parent_id:
        span.mirror, span.trace_id, span.span_id = mirror, context.trace_id, context.span_id


def end_mirror(span: ObservedSpan, mirror: trace.Span) -> None:
    """Ends the mirror span with the attributes, events and status of the observed span."""
    mirror.set_attributes(span.attributes)
    if (pages := runtime.current.pages_url) is not None and span.run.recorded:
        mirror.set_attribute(names.RUN_URL, f"{pages}/runs/{span.run.id}?at={span.span_id:016x}")
    for name, time_ns, attributes in span.events or ():
        mirror.add_event(name, attributes, time_ns)
    if span.status:
        code = StatusCode(span.status)
        mirror.set_status(Status(code, span.status_message if code is StatusCode.ERROR else None))
    mirror.end(span.end_ns)
