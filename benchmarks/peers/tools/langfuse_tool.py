"""Langfuse: `@observe`."""
# pyright: reportMissingImports=false

from importlib.metadata import version

from langfuse import Langfuse, observe
from opentelemetry.sdk.trace import TracerProvider

from benchmarks.peers.tools.otel_calls import CountingExporter, KeptSpans, OtelTool


def make_tool() -> OtelTool:
    provider, kept, exporter = TracerProvider(), KeptSpans(), CountingExporter()
    provider.add_span_processor(kept)
    client = Langfuse(
        public_key="pk-lf-probe",
        secret_key="sk-lf-probe",
        base_url="http://127.0.0.1:9",
        tracer_provider=provider,
        span_exporter=exporter,
    )
    return OtelTool(version("langfuse"), observe, kept, exporter, client.flush)
