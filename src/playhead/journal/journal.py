"""The journal of this process: one lane, opened at the first append, and what happens when there is no room.

Appending is durable once it returns (see `lane`), and never raises: a disk that is full costs records, not the user's
program.  In a forked child the journal begins a lane of its own.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import JournalUnusable
from playhead.journal.frame import RESOURCE, frame
from playhead.journal.lane import SEGMENT_BYTES, LaneWriter
from playhead.journal.space import reclaim
from playhead.model.canonical import canonical_json
from playhead.model.span import Attributes

log = logging.getLogger("playhead")

# Beyond the limit payloads become markers; calls themselves are still recorded in this quarter more.
_RESERVE = 1.25
# Space is given back segment by segment: a small journal has small ones.
_SEGMENTS = 8
# What the collector has, may go before the limit is reached, so that there is room before it is needed.
_KEPT = 0.75
# `off` keeps appends in memory for this long at most, and gives them to the shipper in one piece.
_MOST_BUFFERED = 256 * 1024


@dataclass(slots=True)
class JournalCounters:
    """What did not go as it should; all zero in a healthy process."""

    lost_records: int = 0
    failed_writes: int = 0


class Journal:
    """Appends frames for this process.  Safe for threads and forks; no method raises."""

    def __init__(
        self,
        journal_dir: Path,
        *,
        durability: str,
        max_bytes: int,
        resource: Attributes,
        on_room: Callable[[bool], None],
        on_failed_write: Callable[[], None],
    ):
        """`on_room(False)` is called when the limit is reached, `on_room(True)` when there is room again."""
        self.journal_dir = journal_dir
        self.counters = JournalCounters()
        self.lane: LaneWriter | None = None
        self.on_append: Callable[[], None] = _nothing
        self._fsync = durability == "fsync"
        self._buffer: list[bytes] | None = [] if durability == "off" else None
        self._buffered = 0
        self._max_bytes = max_bytes
        self._resource_frame = frame(RESOURCE, canonical_json(resource))
        self._on_room = on_room
        self._on_failed_write = on_failed_write
        # Re-entrant: the garbage collector may end a dropped call while this thread is in here.
        self._mutex = threading.RLock()
        self._since_check = 0
        self._taken = 0
        self._unusable = False
        self._said_lost = False

    def append(self, frames: bytes) -> bool:
        """Keeps these frames, in one piece; False if they are lost."""
        lane, size = self.lane, len(frames)
        if lane is None or self._buffer is not None or self._taken + self._since_check + size > self._max_bytes:
            kept = self._write(frames) if self._buffer is None else self._append_later(frames)
        else:  # as nearly always
            self._since_check += size
            try:
                lane.append(frames)
                kept = True
            except (OSError, ValueError) as error:
                kept = self._lose_to(lane, error)
        self.on_append()
        return kept

    def flush(self) -> None:
        """Writes what `durability=off` kept in memory."""
        with self._mutex:
            if not self._buffer:
                return
            data, self._buffer, self._buffered = b"".join(self._buffer), [], 0
        self._write(data)

    def open(self) -> LaneWriter | None:
        """The lane, made now if there is none; None when it cannot be."""
        with self._mutex:
            if self.lane is None and not self._unusable:
                try:
                    lane = LaneWriter(
                        self.journal_dir,
                        fsync=self._fsync,
                        resource_frame=self._resource_frame,
                        segment_bytes=min(SEGMENT_BYTES, self._max_bytes // _SEGMENTS),
                    )
                    self.lane = lane
                    self._taken = reclaim(self.journal_dir, lane.path, int(self._max_bytes * _KEPT))
                except (JournalUnusable, OSError) as error:
                    self._unusable = self.lane is None
                    self._say_lost(f"nothing is recorded: {error}")
            return self.lane

    def close(self) -> None:
        """Gives the lane up; a later append opens another."""
        self.flush()
        with self._mutex:
            if self.lane is not None:
                self.lane.close()
                self.lane = None

    def after_fork(self) -> None:
        """In the child: leave the parent's lane alone."""
        self._mutex = threading.RLock()
        if self._buffer is not None:
            self._buffer, self._buffered = [], 0  # the parent has these and will write them
        if self.lane is not None:
            self.lane.abandon()
            self.lane = None

    def make_room(self) -> None:
        """Looks at the disk and deletes what may go; for the shipper, after each acknowledgement."""
        lane = self.lane
        if lane is None:
            return
        self._taken = reclaim(self.journal_dir, lane.path, int(self._max_bytes * _KEPT))
        self._since_check = 0
        self._on_room(self._taken < self._max_bytes)

    def _append_later(self, data: bytes) -> bool:
        with self._mutex:
            if self._buffer is not None:
                self._buffer.append(data)
            self._buffered += len(data)
            full = self._buffered >= _MOST_BUFFERED
        if full:
            self.flush()
        return True

    def _write(self, data: bytes) -> bool:
        lane = self.lane or self.open()
        if lane is None:
            return self._lose()
        if not self._has_room(len(data)):
            self._say_lost(
                f"the journal in {self.journal_dir} has no room for more: calls are not recorded until the collector "
                "has taken some; start one, or raise PLAYHEAD_JOURNAL_MAX_BYTES"
            )
            return self._lose()
        return self._append_to(lane, data)

    def _append_to(self, lane: LaneWriter, data: bytes) -> bool:
        try:
            lane.append(data)
            return True
        except (OSError, ValueError) as error:
            return self._lose_to(lane, error)

    def _lose_to(self, lane: LaneWriter, error: Exception) -> bool:
        self.counters.failed_writes += 1
        self._say_lost(f"could not write to the journal in {lane.path} ({error}): records are being lost")
        return self._lose()

    def _has_room(self, size: int) -> bool:
        self._since_check += size
        taken = self._taken + self._since_check
        if taken <= self._max_bytes:
            return True
        if self._since_check > self._max_bytes // 64:
            self.make_room()
            self._since_check = size
            taken = self._taken + size
        self._on_room(taken < self._max_bytes)
        return taken <= self._max_bytes * _RESERVE

    def _lose(self) -> bool:
        self.counters.lost_records += 1
        # What was in the lost frames must not be believed to be stored.
        self._on_failed_write()
        return False

    def _say_lost(self, message: str) -> None:
        if not self._said_lost:
            self._said_lost = True
            log.warning("%s", message)


def _nothing() -> None:
    """Nobody waits for appends."""
