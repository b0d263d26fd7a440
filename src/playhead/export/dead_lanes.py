"""Ships the lanes of dead processes."""

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from playhead.export.counters import ShipCounters
from playhead.export.shipment import LaneCursor, Shipment, is_delivered
from playhead.journal.lane import DeadLaneLock, LaneReader, lanes, lock_dead_lane


class DeadLanes:
    """Ships the lanes of dead processes one after the other, a shipment at a time.

    A lane is locked while it is shipped, so that no two processes ship it at the same time. It is not deleted here: a
    resume reads it, and the journal reclaims its space when it needs it.
    """

    def __init__(
        self,
        journal_dir: Path,
        counters: ShipCounters,
        own: Path | None = None,
        only: Sequence[Path] | None = None,
        reader: Callable[[Path], LaneReader] = LaneReader,
    ):
        """Lists the lanes once. Leaves out `own` and, if `only` is given, all lanes not in it. Raises OSError.

        `reader` opens a lane for a destination; lanes of other destinations are left out. If `only` is given, the
        collector also gets lanes without any destination.
        """
        paths = lanes(journal_dir) if only is None else only
        self._reader = reader
        self._waiting = deque(
            path
            for path in paths
            if path != own
            and (reader(path).is_begun() or (only is not None and is_for_nobody_else(path, reader)))
            and not is_delivered(path, reader)
        )
        self._cursor: LaneCursor | None = None
        self._adopted: DeadLaneLock | None = None
        self._counters = counters
        self.shipped = 0

    def step(self, deliver: Callable[[Shipment], None]) -> bool:
        """Delivers one shipment; False when nothing is left. After an exception, the next call takes the next lane."""
        cursor = self._cursor or self._open_next()
        if cursor is None:
            return False
        begin = cursor.at
        try:
            shipment = cursor.load()
            deliver(shipment)
            cursor.lane.ack(cursor.at)
        except BaseException:
            self.release()
            raise
        cursor.report(self._counters)
        if cursor.at == begin:
            self.shipped += 1
            self.release()
        return True

    def release(self) -> None:
        """Releases the lane that is being shipped. Another process can deliver what was not acknowledged."""
        self._cursor = None
        adopted, self._adopted = self._adopted, None
        if adopted is not None:
            adopted.close()

    def _open_next(self) -> LaneCursor | None:
        while self._waiting:
            path = self._waiting.popleft()
            adopted = lock_dead_lane(path)
            if adopted is None:
                continue
            self._adopted = adopted
            # Another process may have delivered it before this one got the lock.
            if not is_delivered(path, self._reader):
                self._cursor = LaneCursor(self._reader(path), complete=True)
                return self._cursor
            self.release()
        return None


def is_for_nobody_else(path: Path, reader: Callable[[Path], LaneReader]) -> bool:
    """Whether the reader is the collector's, and the lane has no destination at all."""
    return reader(path).is_collectors and LaneReader(path).is_for_nobody()


def lanes_for(journal_dir: Path, reader: Callable[[Path], LaneReader]) -> list[Path]:
    """Lanes of the reader's destination; for the collector, also lanes without a destination. Raises OSError."""
    return [path for path in lanes(journal_dir) if reader(path).is_begun() or is_for_nobody_else(path, reader)]


def undelivered(journal_dir: Path, reader: Callable[[Path], LaneReader] = LaneReader) -> list[Path]:
    """Lanes of dead processes with records that the destination lacks, and that no process is delivering now."""
    paths: list[Path] = []
    for path in lanes_for(journal_dir, reader):
        if not is_delivered(path, reader) and (adopted := lock_dead_lane(path)) is not None:
            adopted.close()
            paths.append(path)
    return paths
