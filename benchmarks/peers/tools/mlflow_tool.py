"""MLflow: `@mlflow.trace`, in the program's own tracer provider, exporting by OTLP."""
# pyright: reportMissingImports=false

import os
import tempfile
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from benchmarks.peers.tools.otel_calls import CountingExporter, KeptSpans, OtelTool

os.environ["MLFLOW_USE_DEFAULT_TRACER_PROVIDER"] = "false"
os.environ["MLFLOW_TRACKING_URI"] = f"file:{tempfile.mkdtemp(prefix='probe-')}"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = "http://127.0.0.1:9/v1/traces"


def make_tool() -> OtelTool:
    import mlflow
    from mlflow.tracing import provider as mlflow_provider

    provider, kept, exporter = TracerProvider(), KeptSpans(), CountingExporter()
    provider.add_span_processor(kept)
    trace.set_tracer_provider(provider)
    # Its own batch processor, with an exporter that counts in place of the one over HTTP.
    mlflow_provider.get_otlp_exporter = lambda: exporter
    return OtelTool(version("mlflow-tracing"), mlflow.trace, kept, exporter, provider.force_flush)
