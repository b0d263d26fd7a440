"""S3: bytes that leave the process, against the same spans with their content inline, sent by the standard exporter."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

import playhead
from benchmarks.recording import inline_bytes, record_all, recording
from benchmarks.sdk.sink import Sink
from playhead.export.shipment import Shipment
from playhead.journal.frame import frames_in
from playhead.journal.lane import lanes
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.thread import extend
from tests.support.bar import Row, at_most, not_measured, told
from tests.support.replayed_runs import recorded_runs

# What BatchSpanProcessor sends at a time by default.
_BATCH = 512
# What instrumentations put inline.  Request and response are ours alone, so they are not held against the others.
_OURS = {names.REQUEST_REF, names.RESPONSE_REF}


def measure() -> Iterator[Row]:
    """The recorded runs, sent three ways."""
    runs = recorded_runs()
    if not runs:
        yield not_measured("S3", "bytes sent", "there are no recorded runs")
        return
    with Sink() as sink:
        with recording(sink.url) as journal:
            record_all(runs)
            playhead.flush(120)
            counts = sink.take_counts()
            spans = list(inline_spans(journal))
        ours = sum(size for _, size in counts.values())
        plain = _exported(sink, spans, Compression.NoCompression)
        packed = _exported(sink, spans, Compression.Gzip)
        with recording(sink.url):
            for run in runs:
                record_all([run])
                playhead.flush(120)
            one_by_one = sink.take_bytes()
    kinds = ", ".join(f"{path.removeprefix('/v1/')} {size:,}" for path, (_, size) in sorted(counts.items()))
    yield at_most("S3", "bytes sent ÷ inline, uncompressed", ours / plain, 1 / 12, unit="x", against=f"{plain:,} bytes")
    yield at_most("S3", "bytes sent ÷ inline, gzipped", ours / packed, 1 / 2, unit="x", against=f"{packed:,} bytes")
    yield told("S3", "bytes sent", ours, unit="bytes", against=f"{kinds}; inputs inline {inline_bytes(runs):,}")
    yield told("S3", "bytes sent, each run delivered by itself", one_by_one, unit="bytes", against="no lingering")


def inline_spans(journal: Path) -> Iterator[ReadableSpan]:
    """The spans of a journal as OpenTelemetry's, with content where their refs were."""
    shipment = _everything(journal)
    threads = _threads(shipment)
    texts: dict[ContentRef, str] = {c.ref: c.data.decode() for c in shipment.contents.values()}
    for ref, messages in threads.items():
        texts[ref] = "[" + ",".join(texts[message] for message in messages) + "]"
    resource = Resource.create({})
    for span in shipment.spans:
        yield _inline(span, texts, resource)


def _inline(span: Span, texts: dict[ContentRef, str], resource: Resource) -> ReadableSpan:
    attributes: dict[str, Any] = {}
    for name, value in span.attributes.items():
        if not name.endswith(names.REF_SUFFIX):
            attributes[name] = value
        elif name not in _OURS:
            attributes[name.removesuffix(names.REF_SUFFIX)] = texts[ContentRef(value)]
    trace_id = int(span.trace_id, 16)
    return ReadableSpan(
        name=span.name,
        context=_context(trace_id, span.span_id),
        parent=_context(trace_id, span.parent_id) if span.parent_id else None,
        resource=resource,
        attributes=attributes,
        kind=list(SpanKind)[span.kind - 1],
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=InstrumentationScope(span.scope),
    )


def _context(trace_id: int, span_id: str) -> SpanContext:
    return SpanContext(trace_id, int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))


def _exported(sink: Sink, spans: list[ReadableSpan], compression: Compression) -> int:
    exporter = OTLPSpanExporter(endpoint=f"{sink.url}/v1/traces", compression=compression)
    for start in range(0, len(spans), _BATCH):
        exporter.export(spans[start : start + _BATCH])
    exporter.shutdown()
    return sink.take_bytes()


def _everything(journal: Path) -> Shipment:
    shipment = Shipment()
    for lane in lanes(journal):
        for segment in sorted(lane.glob("*.segment")):
            for kind, payload, _ in frames_in(segment.read_bytes()):
                shipment.add(kind, payload)
    return shipment


def _threads(shipment: Shipment) -> dict[ContentRef, list[ContentRef]]:
    """Every thread that an extension ends in, as its messages."""
    threads: dict[ContentRef | None, list[ContentRef]] = {None: []}
    for extension in shipment.threads:
        messages = list(threads[extension.parent])
        for node in extend(extension.messages, extension.parent):
            messages.append(node.message)
            threads[node.ref] = list(messages)
    return {ref: messages for ref, messages in threads.items() if ref is not None}


def sizes_by_role(journal: Path) -> dict[str, int]:
    """For those who tune: bytes of contents by what they are."""
    sizes: dict[str, int] = {}
    shipment = _everything(journal)
    used = {str(v): k for span in shipment.spans for k, v in span.attributes.items() if k.endswith(names.REF_SUFFIX)}
    for content in shipment.contents.values():
        what = used.get(content.ref)
        if what is None:
            value = parse_json(content.data)
            what = f"message {value['role']}" if isinstance(value, dict) and "role" in value else "other"
        sizes[what] = sizes.get(what, 0) + len(content.data)
    return sizes
