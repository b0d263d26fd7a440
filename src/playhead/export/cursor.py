"""lane → [cursor] → shipment.  Reads a lane from where the collector has acknowledged, in chunks of bounded size."""

from collections.abc import Iterator
from pathlib import Path

from playhead.export.shipment import Shipment
from playhead.journal.frame import HEADER_BYTES, RESOURCE, frames_in
from playhead.journal.lane import LaneReader, Position

_CHUNK_BYTES = 2**20


class LaneCursor:
    """A place in a lane.  `complete` says that nobody writes to the lane any more."""

    def __init__(self, lane: LaneReader, *, complete: bool):
        """Begins after what was acknowledged."""
        self.lane = lane
        self.at = Position(1, 0)
        self.skipped = 0
        self._complete = complete
        self._resource = self._resource_at(lane.acked())
        self.skipped = 0

    def load(self) -> Shipment:
        """The next shipment; afterwards `at` is its end.  Empty, and perhaps moved on: nothing more to ship for now."""
        shipment = Shipment(resource=self._resource)
        for kind, payload in self._frames():
            if not shipment.fits(kind, payload):
                break
            shipment.add(kind, payload)
        self._resource = shipment.resource
        self.skipped += shipment.unreadable
        return shipment

    def take_skipped(self) -> int:
        """How many places could not be read since this was last asked."""
        skipped, self.skipped = self.skipped, 0
        return skipped

    def _resource_at(self, start: Position) -> dict[str, object]:
        # A segment tells at its beginning whose records it has, and the cursor may begin in the middle of one.
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
        """Whole frames.  Whoever asks for the next one has taken the one before: only then `at` moves past it."""
        want = _CHUNK_BYTES
        while True:
            # Asked before reading: a segment that has a successor is never written to again.
            last = max(self.lane.segments(), default=0)
            data, start = self.lane.read(self.at, want)
            self.at, taken = start, 0
            if not data:
                return
            for kind, payload, end in frames_in(data):
                yield kind, payload
                self.at, taken = Position(start.segment, start.offset + end), end
            if taken:
                want = _CHUNK_BYTES
                continue
            size = self.lane.segment_bytes(start.segment) - start.offset
            if size <= 0:  # what follows is only allocated
                if start.segment >= last:
                    return
                self.at = Position(min(n for n in self.lane.segments() if n > start.segment), 0)
                continue
            needed = HEADER_BYTES + int.from_bytes(data[:4], "big")
            if len(data) < min(size, needed):
                want = min(size, needed)
            elif start.segment < last or self._complete:
                self._skip(start, size)
            else:
                return

    def _skip(self, start: Position, size: int) -> None:
        # Cut short by a crash, or damaged: where the next frame begins is not known, so the rest of the file is lost.
        self.skipped += 1
        self.at = Position(start.segment, start.offset + size)


def end_of(lane: LaneReader) -> Position:
    """Where the lane ends at this moment."""
    last = max(lane.segments(), default=1)
    return Position(last, lane.segment_bytes(last))


def is_delivered(path: Path) -> bool:
    """Whether all of the lane was acknowledged."""
    lane = LaneReader(path)
    return lane.acked() >= end_of(lane)
