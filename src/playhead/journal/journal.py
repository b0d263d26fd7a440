"""The journal of this process: one lane, opened at the first append, and its behaviour when the disk fails.

Appending is durable once it returns True (see `lane`), and never raises.  Data that cannot be written waits in memory,
up to a limit, and is delivered from there; data beyond that is lost and counted, and the next `playhead.flush` returns
False.
A journal whose folder was removed or whose descriptors were closed continues in a new lane; a forked child has its own.
"""

import errno
import logging
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter

from playhead.errors import JournalUnusable
from playhead.journal.files import is_held
from playhead.journal.frame import RESOURCE, frame
from playhead.journal.lane import SEGMENT_BYTES, LaneReader, LaneWriter, Position
from playhead.journal.latencies import Latencies
from playhead.journal.quota import BackgroundJob, Quota, free_space, journal_usage
from playhead.journal.segment import SegmentGone
from playhead.model.canonical import canonical_json
from playhead.model.span import Attributes
from playhead.wire.delays import delay_s

log = logging.getLogger("playhead")

# Share of the limit that acknowledged data may fill: more is deleted, so that there is room when it is needed.
_KEPT = 0.6
# Space is freed by whole segments, so a small journal has small ones.
_SEGMENTS = 8
# Space is freed in the background, for at most a second at a time; a call waits a little for it when the disk is full.
_BACKGROUND_SECONDS, _PROGRAM_SECONDS = 1.0, 0.02
# With durability `off`, up to this many bytes are kept in memory, and given to the shipper in one piece.
_MAX_BUFFERED = 256 * 1024
# 4 MiB: some hundred calls, enough for the time until a folder is mounted again or descriptors are free; little
# compared with the memory of a program with an agent.
_MAX_WAITING = 4 * 2**20
# A quarter of it: from here on, waiting data is delivered at once, since little room is left.
_MUCH_WAITING = 2**20
_PIECE = 64 * 1024
# One append in 32 is timed: reading the clock twice for each would slow down what is measured.
_TIMED = 32
_FIRST_TRY_SECONDS, _MAX_TRY_SECONDS = 0.05, 5.0
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
# How much to free when the disk is full: enough for many appends; and how often to try.
_FREE_AT_ONCE, _FREEING_SECONDS = 2**20, 1.0


@dataclass(slots=True)
class JournalCounters:
    """Counts of failures; all zero in a healthy process."""

    lost_records: int = 0
    failed_writes: int = 0
    unwritten_records: int = 0
    """Appends that could not be written to the journal and were delivered from memory."""
    appends: int = 0
    """All appends: calls that began or ended, and what was noted within them."""


class Journal:
    """Appends frames for this process.  Safe for threads, signal handlers and forks; no method raises."""

    def __init__(
        self,
        journal_dir: Path,
        *,
        durability: str,
        max_bytes: int,
        resource: Attributes,
        on_quota_change: Callable[[bool], None],
        on_failed_write: Callable[[], None],
        on_new_segment: Callable[[], None] = lambda: None,
        is_local: bool = False,
        now: Callable[[], float] = time.monotonic,
    ):
        """`on_quota_change(False)` is called when the limit is reached, `on_quota_change(True)` when there is room
        again.

        `on_new_segment`: earlier segments may be deleted, so new records must not refer to content in them.
        `is_local`: nothing is delivered, so each segment must be readable without the others.
        """
        self.journal_dir = journal_dir
        self.counters = JournalCounters()
        self.latencies = Latencies()
        """Durations of one append in `_TIMED`."""
        self._numbers = count(1)
        self.lane: LaneWriter | None = None
        self.on_append: Callable[[], None] = _ignore_append
        self.on_lane: Callable[[Path], None] = _ignore_lane
        """Called with the path of each new lane: the one before it has ended."""
        self.on_much_waiting: Callable[[], None] = _ignore_append
        """Called when `_MUCH_WAITING` bytes wait in memory that cannot be written."""
        self._fsync = durability == "fsync"
        self._off = durability == "off"
        self._max_bytes = max_bytes
        self._is_local = is_local
        self._resource_frame = frame(RESOURCE, canonical_json(resource))
        self._on_quota_change = on_quota_change
        self._on_failed_write = on_failed_write
        self._on_new_segment = on_new_segment
        self._now = now
        self._making_room = BackgroundJob(self.make_room)
        self._deleting = BackgroundJob(self._delete_some)
        # Re-entrant: the garbage collector or a signal may end a call while this thread holds the lock.
        self._mutex = threading.RLock()
        self._forget_all()

    def _forget_all(self) -> None:
        self._direct: LaneWriter | None = None
        """The lane, while appends may go to it without any check."""
        self._quota = Quota(self._max_bytes, self._now)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._waiting_from = 0
        """Offset of the first waiting byte among all bytes that have ever waited."""
        self._next_try = float("-inf")
        self._failures = 0
        self._acked = Position(1, 0)
        self._is_short_of_space = False
        self._next_freeing = float("-inf")
        self._is_cut_counted = False
        """Whether the loss of a cut file is counted already, and the shipper has not reported it yet."""
        self._warned_topics: set[str] = set()

    # --- appending ----------------------------------------------------------------------------------------------------

    def append(self, frames: bytes) -> bool:
        """Appends these frames in one piece. Returns False if they are lost, or wait in memory for the disk."""
        if sys.is_finalizing() and (is_held(self._mutex) or (self.lane and self.lane.is_in_use())):
            return False  # a daemon thread held the lock when Python stopped the thread: it stays locked
        number = self.counters.appends = next(self._numbers)
        began = perf_counter() if number % _TIMED == 1 else 0.0
        lane, room = self._direct, self._quota
        allowance = room.bytes_before_measuring - len(frames)
        if lane is None or allowance < 0:
            appended = self._append_or_buffer(frames)
        else:  # the usual case
            room.bytes_before_measuring = allowance
            try:
                lane.append(frames)
                appended = True
            except (OSError, ValueError):
                appended = self._append_or_buffer(frames)
        if began:
            self.latencies.add(perf_counter() - began)
        self.on_append()
        return appended

    def flush(self) -> bool:
        """Writes what is in memory. Returns whether everything that was appended and not lost is in
        the lane's files.
        """
        with self._mutex:
            lane = self.lane
            if lane is not None:
                lane.check_cut()
            if lane is not None and not lane.is_there():
                try:
                    self._replace(lane)
                except (OSError, JournalUnusable) as error:
                    self._fail(error)
            return self._write_buffered()

    def file_sizes(self) -> list[int]:
        """The sizes of the files that this process has written and that are there, in bytes, oldest first."""
        lane = self.lane
        if lane is None:
            return []
        try:
            reader = LaneReader(lane.path)
            return [reader.segment_bytes(number) for number in reader.segments()]
        except OSError:
            return []

    def note_end(self) -> None:
        """Notes beside the lane's files how much was written to them. For the shipper."""
        lane = self.lane
        if lane is not None:
            lane.note_end()

    def before_read(self) -> bool:
        """Flushes, for the shipper; also measures the folder now and then, so that the program need not."""
        written = self.flush()
        if self._quota.is_measurement_due() or self._quota.is_first_measurement_due():
            self.make_room()
        return written

    def waiting(self, after: int) -> tuple[bytes, int]:
        """The data waiting in memory from offset `after` on, preceded by the resource that applies to it, and the
        offset after the data. Called by the shipper when the data cannot be written.
        """
        with self._mutex:
            data = b"".join(self._waiting)[max(0, after - self._waiting_from) :]
            return self._resource_frame + data if data else b"", self._waiting_from + self._waiting_bytes

    def delivered_from_memory(self, upto: int) -> None:
        """Drops the data waiting in memory before this offset: every destination has it. Called by the shipper."""
        with self._mutex:
            while self._waiting and self._waiting_from + len(self._waiting[0]) <= upto:
                self._drop_first()
                self.counters.unwritten_records += 1

    def acknowledged(self, position: Position) -> None:
        """Notes that the collector has everything before this position. Called by the shipper."""
        self._acked = position
        if (lane := self.lane) is not None:
            lane.acknowledged(position)
        if self._is_short_of_space:
            self._free_space(at_once=True)
        if self._quota.is_measurement_due(more_often_if_short=True):
            self.make_room()

    def damaged(self) -> None:
        """Notes that a part of this process's files cannot be read any more. Called by the shipper."""
        if self._is_cut_counted:  # the shipper finds what the writer has found
            self._is_cut_counted = False
            return
        self.counters.lost_records += 1  # at least one: the number is unknown

    def make_room(self) -> None:
        """Measures the folder and deletes acknowledged segments if needed. Not for a thread of the program."""
        try:
            self._check_limits()
        except OSError as error:
            self._warn("look", f"the size of the journal in {self.journal_dir} cannot be told ({error})")
        finally:
            self._quota.end_measurement()

    def start_segment(self) -> int | None:
        """Begins another segment; later records do not refer to anything before it. Returns its number, or None when
        there is no need or no room for one. Called by the shipper.
        """
        with self._mutex:
            try:
                number = None if self.lane is None or not self.lane.is_there() else self.lane.start_segment()
            except OSError:
                return None
            if number is not None:
                self._on_new_segment()
            return number

    def open(self) -> LaneWriter | None:
        """The lane, created if there is none; None when that fails."""
        with self._mutex:
            if self.lane is None and self._now() >= self._next_try:
                try:
                    self._open()
                except (JournalUnusable, OSError) as error:
                    self._fail(error)
            return self.lane

    def close(self) -> None:
        """Releases the lane. A later append opens another."""
        with self._mutex:
            if not self.flush():
                self._warn("lost", f"records are lost: the journal in {self.journal_dir} cannot be written to")
                self.counters.lost_records += len(self._waiting)
                while self._waiting:
                    self._drop_first()
            lane, self.lane, self._direct = self.lane, None, None
            if lane is not None:
                lane.close()

    def after_fork(self) -> None:
        """In the child: forgets the parent's lane and the data that the parent holds in memory."""
        self._mutex = threading.RLock()
        self._making_room.forget()
        self._deleting.forget()
        self.on_append = self.on_much_waiting = _ignore_append
        self.on_lane = _ignore_lane
        lane, self.lane = self.lane, None
        self._forget_all()
        if lane is not None:
            lane.forget_after_fork()

    # --- when the disk fails or space is short ------------------------------------------------------------------------

    def _append_or_buffer(self, frames: bytes) -> bool:
        with self._mutex:
            if not self._quota.reserve(len(frames), self._making_room.run):
                self._warn(
                    "full",
                    f"the journal in {self.journal_dir} has no room for more: calls are not recorded until "
                    f"{what_makes_room(is_local=self._is_local)}",
                )
                return self._count_lost_record()
            due = self._now() >= self._next_try
            if self._waiting_bytes + len(frames) > _MAX_WAITING and not (due and self._write_buffered()):
                self._warn("lost", f"records are being lost: the journal in {self.journal_dir} cannot be written to")
                return self._count_lost_record()
            self._waiting.append(frames)
            self._waiting_bytes += len(frames)
            if self._off and self._waiting_bytes < _MAX_BUFFERED:
                return True
            written = due and self._write_buffered()
            if not written and self._waiting_bytes >= _MUCH_WAITING:
                self.on_much_waiting()
            return written

    def _drop_first(self) -> None:
        size = len(self._waiting.pop(0))
        self._waiting_bytes -= size
        self._waiting_from += size

    def _write_buffered(self) -> bool:
        """Writes what waits in memory. Returns whether nothing waits any more."""
        if not self._waiting:  # perhaps delivered from memory, which does not prove that the disk works again
            return True
        while self._waiting:
            pieces = self._next_pieces()
            data = b"".join(pieces)
            try:
                self._write(data, len(pieces))
            except (OSError, ValueError, JournalUnusable) as error:
                self._waiting[:0] = pieces
                self._fail(error)
                return False
            self._waiting_bytes -= len(data)
            self._waiting_from += len(data)
        self._next_try, self._failures = float("-inf"), 0
        if "failed" in self._warned_topics:
            log.info("the journal in %s can be written to again", self.journal_dir)
            self._warned_topics.clear()
        self._direct = None if self._off else self.lane
        return True

    def _next_pieces(self) -> list[bytes]:
        """The next data to write: little, since only little space may have been freed."""
        pieces = [self._waiting.pop(0)]
        size = len(pieces[0])
        while self._waiting and size + len(self._waiting[0]) <= _PIECE:
            pieces.append(self._waiting.pop(0))
            size += len(pieces[-1])
        return pieces

    def _write(self, data: bytes, records: int) -> None:
        """Writes the data. Raises OSError or JournalUnusable, and then nothing was written."""
        try:
            self._write_once(data, records)
        except (OSError, JournalUnusable) as error:
            why = error.__cause__ if isinstance(error, JournalUnusable) else error
            if not (isinstance(why, OSError) and why.errno in _NO_SPACE and self._free_space()):
                raise
            self._write_once(data, records)

    def _write_once(self, data: bytes, records: int) -> None:
        lane = self.lane or self._open()
        try:
            lane.append(data, records)
        except SegmentGone:
            self._replace(lane).append(data, records)

    def _fail(self, error: Exception) -> None:
        self._direct = None
        self._failures += 1
        self._next_try = self._now() + delay_s(self._failures, _FIRST_TRY_SECONDS, _MAX_TRY_SECONDS)
        self.counters.failed_writes += 1
        # The contents in these frames must not count as stored.
        self._on_failed_write()
        if isinstance(error, JournalUnusable):
            self._warn(
                "failed",
                "what is recorded waits in memory (4 MiB at most), is delivered from there, and does not survive this "
                f"process until this is mended: {error}",
            )
        else:
            self._warn(
                "failed",
                f"could not write to the journal in {self.journal_dir} ({error}): records wait in memory (4 MiB at "
                "most), are delivered from there, and do not survive this process; give the folder space or the right "
                "to be written to, or set PLAYHEAD_JOURNAL_DIR",
            )

    def _open(self) -> LaneWriter:
        lane = LaneWriter(
            self.journal_dir,
            fsync=self._fsync,
            resource_frame=self._resource_frame,
            segment_bytes=min(SEGMENT_BYTES, self._max_bytes // _SEGMENTS),
            on_cut=self._on_cut,
            on_rotation=self._on_new_segment if self._is_local else _ignore_append,
        )
        self.lane, self._acked = lane, Position(1, 0)
        self.on_lane(lane.path)
        return lane

    def _replace(self, lane: LaneWriter) -> LaneWriter:
        """Continues in a new lane, and copies frames to it that only this process can still read.

        Raises OSError or JournalUnusable.
        """
        rescued = lane.unreadable()
        if self._acked.segment < lane.segment_number and not lane.path.exists():
            self.counters.lost_records += 1  # at least one: the number is unknown
            self._warn("lost", f"records were lost: somebody has removed {lane.path}")
        self._direct = self.lane = None
        lane.close()
        try:
            new = self._open()
            if rescued:
                new.append(rescued)
        except BaseException:
            if rescued:
                self._waiting_from += self._waiting_bytes  # new offsets: none of it was delivered from memory yet
                self._waiting.insert(0, rescued)
                self._waiting_bytes += len(rescued)
            raise
        return new

    def _on_cut(self, lost_bytes: int, lost_records: int) -> None:
        """Counts the loss when somebody has cut the file that is written to."""
        self.counters.lost_records += max(1, lost_records)
        self._is_cut_counted = True
        self._on_new_segment()  # so that the contents in it are recorded again
        self._warn(
            "cut",
            f"records are lost: somebody has cut the last {lost_bytes} bytes off a file of the journal in "
            f"{self.journal_dir}; leave its files to Playhead (log rotation, for example)",
        )

    # --- space --------------------------------------------------------------------------------------------------------

    def _check_limits(self) -> None:
        self._quota.begin_measurement()
        lane = self.lane
        usage = journal_usage(self.journal_dir)
        used_bytes, target_bytes = usage.bytes, int(self._max_bytes * _KEPT)
        if used_bytes > target_bytes:
            own_lane = lane.path if lane is not None else None
            used_bytes -= free_space(self.journal_dir, own_lane, used_bytes - target_bytes, seconds=_BACKGROUND_SECONDS)
        remaining_bytes = max(0, self._max_bytes - used_bytes - self._waiting_bytes)
        self._on_quota_change(self._quota.measured(remaining_bytes, usage.active_lanes))

    def _free_space(self, *, at_once: bool = False) -> bool:
        """Frees space when the disk itself is full. Returns whether any was freed."""
        lane, now = self.lane, self._now()
        self._is_short_of_space = True
        if now < self._next_freeing and not at_once:
            return False
        self._next_freeing = now + _FREEING_SECONDS
        try:
            if lane is not None and lane.reuse_segment(self._acked):
                self._is_short_of_space = False
        except OSError:
            return False
        if self._is_short_of_space:
            self._deleting.run(_PROGRAM_SECONDS)
        return not self._is_short_of_space

    def _delete_some(self) -> None:
        lane = self.lane
        own_lane = lane.path if lane is not None else None
        with suppress(OSError):
            if free_space(self.journal_dir, own_lane, _FREE_AT_ONCE, seconds=_BACKGROUND_SECONDS):
                self._is_short_of_space = False

    def _count_lost_record(self) -> bool:
        self.counters.lost_records += 1
        self._on_failed_write()
        return False

    def _warn(self, topic: str, message: str) -> None:
        if topic not in self._warned_topics:
            self._warned_topics.add(topic)
            log.warning("%s", message)


def what_makes_room(*, is_local: bool) -> str:
    """What has to happen for the journal to have room again, and what the user can do."""
    if is_local:
        return "runs have ended, of which the oldest are deleted then; or raise PLAYHEAD_JOURNAL_MAX_BYTES"
    return "the collector has taken some; start one, or raise PLAYHEAD_JOURNAL_MAX_BYTES"


def _ignore_append() -> None:
    """The default for `on_append`: does nothing."""


def _ignore_lane(path: Path) -> None:
    """The default for `on_lane`: does nothing."""
