"""Traceloop's OpenLLMetry: `@task()`. `@workflow`, which its page has for the outermost call, is the same function."""
# pyright: reportMissingImports=false

import os
from importlib.metadata import version
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from benchmarks.peers.tools.otel_calls import CountingExporter, KeptSpans, OtelTool

os.environ["TRACELOOP_TELEMETRY"] = "false"


def make_tool() -> OtelTool:
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import task

    provider, kept, exporter = TracerProvider(), KeptSpans(), CountingExporter()
    provider.add_span_processor(kept)
    trace.set_tracer_provider(provider)
    Traceloop.init("probe", exporter=exporter, instruments=set(), telemetry_enabled=False)

    def name_of(span: Any) -> str:
        return str(span.attributes.get("traceloop.entity.name", span.name)).rpartition(".")[2]

    return OtelTool(version("traceloop-sdk"), task(), kept, exporter, provider.force_flush, name_of)
