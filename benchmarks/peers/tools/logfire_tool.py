"""Logfire: `@logfire.instrument`, with `allow_generator=True`, which its page asks for on generators."""
# pyright: reportMissingImports=false

from importlib.metadata import version
from typing import Any

import logfire
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from benchmarks.peers.tools.otel_calls import CountingExporter, KeptSpans, OtelTool


def make_tool() -> OtelTool:
    kept, exporter = KeptSpans(), CountingExporter()
    logfire.configure(
        send_to_logfire=False,
        console=False,
        additional_span_processors=[kept, BatchSpanProcessor(exporter)],
    )

    def decorate(function: Any) -> Any:
        return logfire.instrument(span_name=function.__name__, record_return=True, allow_generator=True)(function)

    return OtelTool(version("logfire"), decorate, kept, exporter, logfire.force_flush)
