"""lane → [cursor] → shipment.  Reads a lane from where the collector has acknowledged, in chunks of bounded size."""

from collections.abc import Callable, Iterator
from pathlib import Path

from playhead.export.counters import ShipCounters
from playhead.export.shipment import Shipment
from playhead.journal.frame import HEADER_BYTES, RESOURCE, frames_in, is_cut_frame, next_frame
from playhead.journal.lane import LaneReader, Position

_CHUNK_BYTES = 2**20


class LaneCursor:
    """Reads a lane from a position on. `complete`: no process writes to the lane any more."""

    def __init__(self, lane: LaneReader, *, complete: bool):
        """Starts at the first position that the collector has not acknowledged."""
        self.lane = lane
        self.at = Position(1, 0)
        self.skipped = 0
        """Frames or stretches that could not be read: cut short by a crash, or damaged."""
        self.damaged_bytes = 0
        self._suspect: Position | None = None
        self._complete = complete
        self._resource = self._resource_at(lane.acked())
        self.skipped = self.damaged_bytes = 0

    def load(self) -> Shipment:
        """Returns the next shipment and moves `at` to its end. An empty shipment: nothing more to ship for now."""
        shipment = Shipment(resource=self._resource, lane=self.lane.path)
        for kind, payload in self._frames():
            if not shipment.fits(kind, payload):
                break
            shipment.add(kind, payload)
        self._resource = shipment.resource
        self.skipped += shipment.unreadable
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
            needed = min(size, HEADER_BYTES + int.from_bytes(data[:4], "big"))
            if len(data) < needed:
                want = needed
            elif len(data) < size:
                want = size  # damaged: all of the file is needed to find where the next frame begins
            elif not self._pass_over(start, data, complete=start.segment < last or self._complete):
                return

    def _pass_over(self, start: Position, data: bytes, *, complete: bool) -> bool:
        """Skips data that is no frame. False if it reaches the end of the file and may be a frame that is being
        written.
        """
        found = next_frame(data, 1)
        if not complete and (found is None or (is_cut_frame(data) and self._suspect != start)):
            self._suspect = start  # a frame that is still incomplete at the next look is damaged
            return False
        self.skipped += 1
        if found is not None or not is_cut_frame(data):
            self.damaged_bytes += len(data) if found is None else found
        self.at = Position(start.segment, start.offset + (len(data) if found is None else found))
        return True


def end_of(lane: LaneReader) -> Position:
    """The current end of the lane."""
    last = max(lane.segments(), default=1)
    return Position(last, lane.segment_bytes(last))


def is_delivered(path: Path, reader: Callable[[Path], LaneReader] = LaneReader) -> bool:
    """Whether the destination of the reader (the collector) has acknowledged all of the lane."""
    lane = reader(path)
    return lane.acked() >= end_of(lane)


def is_released(path: Path) -> bool:
    """Whether every destination has acknowledged all of the lane."""
    lane = LaneReader(path)
    return lane.released() >= end_of(lane)
