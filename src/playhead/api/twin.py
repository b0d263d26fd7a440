"""Twins: where the program has a tracer provider of its own, each observed call has a span there as well.

Same ids, same attributes; that provider's sampler decides, and its exporters see what they would expect.  It is never
replaced, and never made.
"""

from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, Status, StatusCode

from playhead.api.span import ObservedSpan
from playhead.model import names

_KINDS = {"llm": SpanKind.CLIENT}


def provider() -> TracerProvider | None:
    """The program's own, if it has one."""
    # The public way reads the environment each time while there is none, which costs more than the rest of a span.
    found: Any = trace._TRACER_PROVIDER  # pyright: ignore[reportPrivateUsage]
    return found if found is not None and isinstance(found, TracerProvider) else None


def start(of: TracerProvider, span: ObservedSpan, where: Context) -> None:
    """Gives the span a twin, and the ids of it; a run is recorded if the twin of its root is, or always."""
    kind = _KINDS.get(span.kind, SpanKind.INTERNAL)
    tracer = of.get_tracer(names.SCOPE)
    twin = tracer.start_span(span.name, where, kind, span.attributes, start_time=span.start_ns)
    context = twin.get_span_context()
    if names.RUN_ROOT in span.attributes and not span.recorder.always and span.run.replay is None:
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
