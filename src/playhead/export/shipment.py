"""lane → [shipment] → delivery.  Reads a lane from where the collector has acknowledged into shipments of bounded size.

A shipment is the decoded frames that are sent together. `LaneCursor` reads them one after the other, and finds what a
lane has lost.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import orjson

from playhead.export.counters import ShipCounters
from playhead.journal import frame
from playhead.journal.frame import END, HEADER_BYTES, RESOURCE, frames_in, is_cut_frame, next_frame, read_end
from playhead.journal.lane import LaneReader, Position
from playhead.journal.latencies import READING
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
    for kind, payload, _ in frames_in(data):
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


# --- reading a lane ---------------------------------------------------------------------------------------------------


_CHUNK_BYTES = 2**20


class LaneCursor:
    """Reads a lane from a position on. `complete`: no process writes to the lane any more."""

    def __init__(self, lane: LaneReader, *, complete: bool):
        """Starts at the first position that the collector has not acknowledged."""
        self.lane = lane
        self.at = Position(1, 0)
        self.skipped = 0
        """Frames or stretches that could not be read: cut short by a crash, cut off, or damaged."""
        self.damaged_bytes = 0
        self._suspect: Position | None = None
        self._complete = complete
        self._begin = lane.acked()
        self._again: set[int] = set()
        """Segments that are read once more from their beginning, because they have lost their end."""
        self._short: set[int] = set()
        """Segments whose lost end was counted."""
        self._is_seeking = True
        self._resource = self._resource_at(self._begin)
        self._is_seeking = False
        self.skipped = self.damaged_bytes = 0

    def load(self) -> Shipment:
        """Returns the next shipment and moves `at` to its end. An empty shipment: nothing more to ship for now."""
        began = perf_counter()
        shipment = Shipment(resource=self._resource, lane=self.lane.path)
        for kind, payload in self._frames():
            if not shipment.fits(kind, payload):
                break
            shipment.add(kind, payload)
        self._resource = shipment.resource
        self.skipped += shipment.unreadable
        if shipment:
            READING.add(perf_counter() - began)
        return shipment

    def report(self, counters: ShipCounters) -> bool:
        """Adds the damage found since the last call to the counters. Returns whether there was any."""
        counters.skipped_frames += self.skipped
        counters.damaged_bytes += self.damaged_bytes
        is_damaged = self.damaged_bytes > 0
        self.skipped = self.damaged_bytes = 0
        return is_damaged

    def _resource_at(self, start: Position) -> dict[str, object]:
        # The resource frame is at the beginning of a segment, and the cursor may begin in the middle of one.
        shipment = Shipment()
        self.at = Position(start.segment, 0)
        if start.offset:
            for kind, payload in self._frames():
                if self.at >= start:
                    break
                if kind == RESOURCE:
                    shipment.add(kind, payload)
        self.at = start
        return shipment.resource

    def _frames(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields whole frames. `at` moves past a frame only when the next one is requested."""
        want = _CHUNK_BYTES
        while True:
            # Checked before reading: a segment that has a successor is never written to again.
            last = max(self.lane.segments(), default=0)
            data, start = self.lane.read(self.at, want)
            self.at = start
            if not data:
                if self._is_at_lost_end():
                    continue
                return
            yield from self._frames_in(data, start)
            if self.at != start:
                want = _CHUNK_BYTES
                continue
            size = self.lane.segment_bytes(start.segment) - start.offset
            needed = min(size, HEADER_BYTES + int.from_bytes(data[:4], "big"))
            if len(data) < needed:
                want = needed
            elif len(data) < size:
                want = size  # damaged: all of the file is needed to find where the next frame begins
            elif not self._pass_over(start, data, complete=start.segment < last or self._complete):
                return

    def _frames_in(self, data: bytes, start: Position) -> Iterator[tuple[bytes, bytes]]:
        """Yields the whole frames at the beginning of `data`, which was read from the position `start`. Moves `at`."""
        for kind, payload, end in frames_in(data):
            if kind != END:
                yield kind, payload
            elif self._is_after_lost_end(start.segment, payload):
                return
            self.at = Position(start.segment, start.offset + end)

    def _is_at_lost_end(self) -> bool:
        """Whether the lane is complete, has lost its end, and its last segment is now read again for that. If it is not
        read again, moves `at` to the end that was written."""
        end = self.lane.end()
        if not self._complete or self._is_seeking or self.at >= end:
            return False
        if self._is_read_again(end.segment, end.offset):
            return True
        self.at = end
        return False

    def _is_after_lost_end(self, number: int, payload: bytes) -> bool:
        """Whether the segment before this one has lost its end, and is now read again for that. `payload`: of the end
        frame in segment `number`."""
        before, written = read_end(payload)
        return before == number - 1 and self._is_read_again(before, written)

    def _is_read_again(self, number: int, written: int) -> bool:
        """Moves `at` to the beginning of a segment that has lost its end, once; after that, counts the loss. Returns
        whether `at` was moved.

        Frames that were appended after the segment was cut may stand before the position up to which it was read.
        Frames that the collector already has change nothing there.
        """
        size = self.lane.segment_bytes(number)
        if self._is_seeking or number in self._short or size >= written or number not in self.lane.segments():
            return False
        was_read_whole = self._complete and self._begin <= Position(number, 0)
        if number not in self._again and not was_read_whole:
            self._again.add(number)
            self.at = Position(number, 0)
            return True
        self._short.add(number)
        self.skipped += 1
        self.damaged_bytes += written - size
        return False

    def _pass_over(self, start: Position, data: bytes, *, complete: bool) -> bool:
        """Skips data that is not a frame. Returns False if the data reaches the end of the file and may be a frame that
        is being written."""
        offset = next_frame(data, 1)
        if not complete and (offset is None or (is_cut_frame(data) and self._suspect != start)):
            self._suspect = start  # a frame that is still incomplete at the next look is damaged
            return False
        self.skipped += 1
        if offset is not None or not is_cut_frame(data):
            self.damaged_bytes += len(data) if offset is None else offset
        self.at = Position(start.segment, start.offset + (len(data) if offset is None else offset))
        return True


def end_of(lane: LaneReader) -> Position:
    """The current end of the lane."""
    last = max(lane.segments(), default=1)
    return Position(last, lane.segment_bytes(last))


def is_delivered(path: Path, reader: Callable[[Path], LaneReader] = LaneReader) -> bool:
    """Whether the destination of the reader (the collector) has acknowledged all of the lane."""
    lane = reader(path)
    return lane.acked() >= lane.end()


def is_delivered_everywhere(path: Path) -> bool:
    """Whether every destination has acknowledged all of the lane."""
    lane = LaneReader(path)
    return lane.released() >= lane.end()
