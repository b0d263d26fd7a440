"""OpenInference: `@tracer.chain`, the decorator of `openinference-instrumentation` (Phoenix)."""

from importlib.metadata import version

from openinference.instrumentation import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from benchmarks.peers.tools.otel_calls import CountingExporter, KeptSpans, OtelTool


def make_tool() -> OtelTool:
    provider, kept, exporter = TracerProvider(), KeptSpans(), CountingExporter()
    provider.add_span_processor(kept)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer(__name__)
    return OtelTool(version("openinference-instrumentation"), tracer.chain, kept, exporter, provider.force_flush)
