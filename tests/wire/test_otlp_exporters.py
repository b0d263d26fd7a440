"""OpenTelemetry's own exporters, unmodified, against a real collector process with its own Postgres."""

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import pytest
import requests
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, format_trace_id, set_span_in_context
from opentelemetry.util.types import AnyValue
from typer.testing import CliRunner

from playhead.cli import app
from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead_collector.process import CollectorProcess
from playhead_collector.store.postgres.store import connect


def chat(collector: CollectorProcess, marker: str, compression: Compression) -> str:
    """One agent with one model call, its content inline as OpenTelemetry's instrumentations write it. The trace id."""
    exporter = OTLPSpanExporter(f"{collector.url}/v1/traces", compression=compression)
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("opentelemetry.instrumentation.openai_v2")
    system = [{"type": "text", "content": f"be kind {marker}"}]
    question = [{"role": "user", "parts": [{"type": "text", "content": f"{marker} where is my parcel? " * 50}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": f"{marker} on its way"}]}]
    with tracer.start_as_current_span("invoke_agent shop", attributes={names.OPERATION: "invoke_agent"}) as agent:
        with tracer.start_as_current_span("chat gpt-4o") as span:
            span.set_attributes(
                {
                    names.OPERATION: "chat",
                    names.PROVIDER: "openai",
                    names.REQUEST_MODEL: "gpt-4o",
                    names.INPUT_TOKENS: 12,
                    names.SYSTEM_INSTRUCTIONS: json.dumps(system),
                    names.INPUT_MESSAGES: json.dumps(question),
                    names.OUTPUT_MESSAGES: json.dumps(answer),
                }
            )
        try:
            raise ValueError("no parcel")
        except ValueError as error:
            agent.record_exception(error)
            agent.set_status(StatusCode.ERROR, "no parcel")
    provider.shutdown()
    return format_trace_id(agent.get_span_context().trace_id)


@pytest.mark.parametrize("compression", list(Compression), ids=lambda c: c.name)
def test_spans_arrive_and_their_content_is_lifted_out_of_them(collector: CollectorProcess, compression: Compression):
    marker = f"marker-{uuid4().hex}"
    run = chat(collector, marker, compression)

    summary = httpx.get(f"{collector.url}/api/v1/runs/{run}", timeout=60)
    assert summary.status_code == 200, summary.text
    agent, call = spans = asyncio.run(stored_spans(collector, run))
    assert [span.name for span in spans] == ["invoke_agent shop", "chat gpt-4o"]
    assert call.parent_id == agent.span_id
    assert (agent.status, agent.status_message) == (2, "no parcel")
    assert agent.resource["service.name"] == "shop"
    assert call.attributes[names.INPUT_TOKENS] == 12
    assert {
        names.SYSTEM_INSTRUCTIONS_REF,
        names.INPUT_MESSAGES_REF,
        names.OUTPUT_MESSAGES_REF,
    } <= call.attributes.keys()
    assert marker not in repr(spans)
    assert asyncio.run(rows_with(collector, marker)) == []
    context = httpx.get(f"{collector.url}/api/v1/runs/{run}/context", timeout=60)
    assert marker in context.text


async def stored_spans(collector: CollectorProcess, run: str) -> list[Span]:
    store = await connect(collector.database, pool_size=1)
    try:
        return sorted(await store.spans.read(1, run), key=lambda span: span.start_ns)
    finally:
        await store.close()


async def stored_logs(collector: CollectorProcess, run: str) -> list[LogEvent]:
    store = await connect(collector.database, pool_size=1)
    try:
        return list(await store.spans.logs(1, run))
    finally:
        await store.close()


async def rows_with(collector: CollectorProcess, marker: str) -> list[str]:
    """Tables, other than those for content, that have the text somewhere, as text or as bytes."""
    import asyncpg

    connection = await asyncpg.connect(collector.database)
    try:
        tables = await connection.fetch("select tablename from pg_tables where schemaname = 'public'")
        found: list[str] = []
        for (table,) in tables:
            if "content" in table:
                continue
            hexed = marker.encode().hex()
            query = f"select count(*) from {table} as r where r::text like $1 or r::text like $2"
            if await connection.fetchval(query, f"%{marker}%", f"%{hexed}%"):
                found.append(table)
        return found
    finally:
        await connection.close()


def test_log_events_arrive_and_ordinary_log_lines_are_not_kept(collector: CollectorProcess):
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(f"{collector.url}/v1/logs")))
    logger = provider.get_logger("playhead")
    trace_id = uuid4().int
    within = set_span_in_context(NonRecordingSpan(SpanContext(trace_id, span_id=7, is_remote=False)))
    attributes: dict[str, AnyValue] = {names.STATE_KEY: "plan", names.CALL_ORDER: 1}
    logger.emit(LogRecord(timestamp=5, context=within, event_name=names.STATE_CHANGED, attributes=attributes))
    logger.emit(LogRecord(timestamp=6, context=within, body="a line", severity_number=SeverityNumber.INFO))
    provider.shutdown()
    [event] = asyncio.run(stored_logs(collector, format_trace_id(trace_id)))
    assert (event.name, event.time_ns, event.attributes) == (names.STATE_CHANGED, 5, attributes)


def test_metrics_are_taken_and_counted(collector: CollectorProcess):
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{collector.url}/v1/metrics"))
    provider = MeterProvider([reader], shutdown_on_exit=False)
    provider.get_meter("shop").create_counter("orders").add(1)
    assert provider.force_flush()
    provider.shutdown()
    ignored = [
        line
        for line in httpx.get(f"{collector.url}/metrics", timeout=60).text.splitlines()
        if "playhead_ignored_total{" in line
    ]
    assert any('signal="metrics"' in line and float(line.split()[-1]) >= 1 for line in ignored)


@pytest.mark.parametrize(
    ("scope", "attributes"),
    [
        (
            "genkit-tracer",
            {
                "genkit:type": "action",
                "genkit:input": '{{"messages": [{{"role": "user", "content": "{marker}"}}]}}',
                "genkit:output": "{marker} where is the parcel of Jane Doe, 5 Elm Street, who called this morning?",
            },
        ),
        (
            "acme.tracing",
            {"acme.model": "gpt-4o", "acme.said": '[{{"role": "user", "content": "{marker}"}}]'},
        ),
    ],
    ids=["Genkit", "made up"],
)
def test_a_sender_whose_dialect_is_not_understood_is_told_so_and_its_content_leaves_the_spans(
    collector: CollectorProcess, scope: str, attributes: dict[str, str]
):
    marker, told = f"marker-{uuid4().hex}", list[str]()

    def note(response: requests.Response, *_: Any, **__: Any) -> None:
        partial = ExportTraceServiceResponse.FromString(response.content).partial_success
        told.append(f"{partial.rejected_spans} {partial.error_message}")

    session = requests.Session()
    session.hooks["response"].append(note)
    provider = TracerProvider(shutdown_on_exit=False)
    exporter = OTLPSpanExporter(f"{collector.url}/v1/traces", session=session)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    values = {key: value.format(marker=marker) for key, value in attributes.items()}
    with provider.get_tracer(scope).start_as_current_span("llm", attributes=values) as sent:
        sent.add_event("said", values)
    provider.shutdown()

    assert told == [f"0 taken without understanding its content, which is kept as it came: scope {scope}"]
    [span] = asyncio.run(stored_spans(collector, format_trace_id(sent.get_span_context().trace_id)))
    inline = {key: value for key, value in values.items() if marker not in value}
    assert inline.items() <= span.attributes.items()
    assert asyncio.run(rows_with(collector, marker)) == []
    moved = next(key for key in values if key not in inline)
    assert (
        httpx.get(f"{collector.url}/api/v1/content/{span.attributes[moved + '_ref']}", timeout=60).text == values[moved]
    )
    assert (
        f'playhead_not_understood_total{{scope="{scope}"}} 1.0'
        in httpx.get(f"{collector.url}/metrics", timeout=60).text
    )
    doctor = CliRunner().invoke(app, ["--url", collector.url, "doctor"])
    assert f"scope\t{scope}\ttaken without understanding its content: spans and log events: 1\t" in doctor.stdout
