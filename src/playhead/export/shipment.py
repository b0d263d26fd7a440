"""cursor → [shipment] → delivery. Journal frames that are sent together, decoded, up to a limit. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from playhead.journal import frame
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.span import Attributes, LogEvent, Span
from playhead.wire.pack import ThreadExtension

T = TypeVar("T", Span, LogEvent)

# 4 MiB: a size that receivers commonly accept by default; more would not compress better.
MAX_BYTES = 4 * 2**20
# 1,000 spans: a request of about 200 kB; sending it again costs little.
MAX_SPANS = 1_000


@dataclass(slots=True)
class Shipment:
    """Some records of a lane, in the lane's order. `resource` applies to the spans and log events added next;
    `lane` is the lane that it was read from."""

    resource: Attributes = field(default_factory=dict[str, Any])
    contents: dict[bytes, Content] = field(default_factory=dict[bytes, Content])
    threads: list[ThreadExtension] = field(default_factory=list[ThreadExtension])
    spans: list[Span] = field(default_factory=list[Span])
    spans_and_announcements: list[Span | LogEvent] = field(default_factory=list["Span | LogEvent"])
    """Announcements and log events."""
    lane: Path | None = None
    payload_bytes: int = 0
    unreadable: int = 0

    def __bool__(self) -> bool:
        return bool(self.contents or self.threads or self.spans or self.spans_and_announcements)

    def fits(self, kind: bytes, payload: bytes) -> bool:
        """Whether this frame fits within the limits; one larger than the limit is sent alone."""
        if kind == frame.RESOURCE or not self:
            return True
        return self.payload_bytes + len(payload) <= MAX_BYTES and (kind != frame.SPAN or len(self.spans) < MAX_SPANS)

    def add(self, kind: bytes, payload: bytes) -> None:
        """Adds a frame. One that cannot be decoded is counted in `unreadable` and left out."""
        try:
            self._add(kind, payload)
        except (ValueError, TypeError, IndexError):
            self.unreadable += 1
        if kind != frame.RESOURCE:
            self.payload_bytes += len(payload)

    def log_events(self) -> Iterator[LogEvent]:
        """The log events to send by OTLP, without announcements of spans that end in this shipment."""
        ended = {span.span_id for span in self.spans}
        for record in self.spans_and_announcements:
            if isinstance(record, LogEvent):
                yield record
            elif record.span_id not in ended:
                yield announcement(record)

    def _add(self, kind: bytes, payload: bytes) -> None:
        match kind:
            case frame.CONTENT:
                digest, content = frame.read_content(payload)
                self.contents[digest] = content
            case frame.THREAD:
                self.threads.append(frame.read_thread(payload))
            case frame.SPAN:
                self.spans.append(self._with_resource(frame.read_span(payload)))
            case frame.ANNOUNCEMENT:
                self.spans_and_announcements.append(self._with_resource(frame.read_span(payload)))
            case frame.LOG:
                self.spans_and_announcements.append(self._with_resource(frame.read_log(payload)))
            case frame.RESOURCE:
                self.resource = orjson.loads(payload)
            case _:  # a kind of a later version, which reads its lane itself when it resumes
                self.unreadable += 1

    def _with_resource(self, record: T) -> T:
        record.resource = self.resource
        record.scope = record.scope or names.SCOPE
        return record


def shipments_of(data: bytes) -> Iterator[Shipment]:
    """Shipments of these frames, which begin with a resource."""
    shipment = Shipment()
    for kind, payload, _ in frame.frames_in(data):
        if not shipment.fits(kind, payload):
            yield shipment
            shipment = Shipment(resource=shipment.resource)
        shipment.add(kind, payload)
    if shipment:
        yield shipment


def announcement(span: Span) -> LogEvent:
    """The log event for the start of a span."""
    attributes = {**span.attributes, names.SPAN_NAME: span.name}
    if span.parent_id:
        attributes[names.SPAN_PARENT] = span.parent_id
    return LogEvent(
        names.STARTED, span.start_ns, span.trace_id, span.span_id, attributes, scope=span.scope, resource=span.resource
    )
