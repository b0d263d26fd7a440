"""The size limit of the journal's folder, which all processes share.

`journal_usage` measures what all processes have written. `Quota` says how much this process may append before the
folder is measured again. `free_space` deletes segments that every destination has acknowledged; records that were not
acknowledged are never deleted here. Measuring and deleting must not hold up the program: `BackgroundJob` does both in a
thread.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from playhead.journal.ended_runs import EndedRuns, SegmentRuns, merge_segment_runs, runs_in
from playhead.journal.index.pruning import prune
from playhead.journal.lane import LaneReader, Position, lanes, lock_dead_lane
from playhead.kernel.bell import Bell
from playhead.kernel.guard import log_internal_error

# --- measuring and freeing --------------------------------------------------------------------------------------------


# A process that has not written for a minute measures again before it writes much.
_ACTIVE_SECONDS = 60.0
# About 0.1 s of a background thread's time.
_MAX_READ_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """The size of the journal on disk in bytes, and the number of lanes that are being written to."""

    bytes: int
    active_lanes: int


def journal_usage(journal_dir: Path) -> DiskUsage:
    """Measures all segments of all processes. Raises OSError."""
    total = active = 0
    recently = time.time() - _ACTIVE_SECONDS
    for path in lanes(journal_dir):
        newest = 0.0
        for size, changed in _segment_sizes(LaneReader(path)):
            total += size
            newest = max(newest, changed)
        active += newest > recently
    return DiskUsage(total, active)


def _segment_sizes(reader: LaneReader) -> Iterator[tuple[int, float]]:
    for number in reader.segments():
        with suppress(FileNotFoundError):  # deleted in the meantime
            state = reader.segment_path(number).stat()
            yield state.st_size, state.st_mtime


def free_space(journal_dir: Path, own_lane: Path | None, excess: int, *, seconds: float = float("inf")) -> int:
    """Deletes acknowledged segments until `excess` bytes are freed. Returns how many bytes were freed.

    Lanes whose runs have all ended go first, then other acknowledged segments, each oldest first; segments of a lane
    without destinations go only when their runs have ended. Stops after `seconds`, since thousands of lanes take long.
    From the lane `own_lane` it deletes only segments before the one being shipped. Of the other lanes it considers only
    those of dead processes.
    """
    deadline = time.monotonic() + seconds
    lane_paths = lanes(journal_dir)
    freed = _delete_ended(journal_dir, [path for path in lane_paths if path != own_lane], excess)
    for path in lane_paths:
        if freed >= excess or time.monotonic() > deadline:
            break
        with suppress(OSError):  # cannot be deleted now, e.g. because another process does so, too
            if LaneReader(path).is_for_nobody():
                freed += _shrink_ended(journal_dir, path, excess - freed, is_own=path == own_lane)
            else:
                freed += (_shrink_own if path == own_lane else _shrink_dead)(path, excess - freed)
    if freed:
        prune(journal_dir)
    return freed


def _delete_ended(journal_dir: Path, lane_paths: Iterable[Path], excess: int) -> int:
    """Deletes delivered lanes of dead processes whose runs have all ended.  Reads only the oldest, up to
    `_MAX_READ_BYTES`."""
    freed, remaining_bytes = 0, _MAX_READ_BYTES
    notes = EndedRuns(journal_dir)
    ended = notes.read()
    for path in lane_paths:
        if freed >= excess or remaining_bytes <= 0:
            break
        with suppress(OSError):
            reader = LaneReader(path)
            numbers = reader.segments()
            if not _is_delivered(reader, numbers):
                continue
            remaining_bytes -= sum(map(reader.segment_bytes, numbers))
            seen = merge_segment_runs(runs_in(reader.segment_path(number).read_bytes()) for number in numbers)
            if new := seen.ended - ended:
                notes.add(new)  # before the lane is deleted: other lanes of these runs do not have their end
                ended |= new
            if seen.runs <= ended:
                freed += _shrink_dead(path, excess - freed)
    return freed


def _is_delivered(reader: LaneReader, numbers: Sequence[int]) -> bool:
    return not numbers or reader.released() >= reader.end()


def _shrink_ended(journal_dir: Path, path: Path, excess: int, *, is_own: bool) -> int:
    """Deletes the oldest segments whose runs have ended. For lanes without destinations, which have the only copy of
    open runs."""
    adopted = None if is_own else lock_dead_lane(path)
    if adopted is None and not is_own:
        return 0
    try:
        return _delete_ended_segments(LaneReader(path), EndedRuns(journal_dir), excess)
    finally:
        if adopted is not None:
            adopted.close()


def _delete_ended_segments(reader: LaneReader, notes: EndedRuns, excess: int) -> int:
    freed, remaining_bytes = 0, _MAX_READ_BYTES
    ended = notes.read()
    waiting: list[tuple[int, SegmentRuns]] = []
    for number in reader.segments():
        remaining_bytes -= reader.segment_bytes(number)
        if remaining_bytes < 0:
            break
        seen = runs_in(reader.segment_path(number).read_bytes())
        notes.add(seen.ended - ended)  # before the segment is deleted: others of these runs do not have their end
        ended |= seen.ended
        waiting.append((number, seen))
        # The last one is being written to, or was written last.
        for old, runs_seen in [pair for pair in waiting[:-1] if pair[1].runs <= ended]:
            freed += reader.segment_bytes(old)
            reader.delete_segment(old)
            waiting.remove((old, runs_seen))
            if freed >= excess:
                return freed
    return freed


def _shrink_own(path: Path, excess: int) -> int:
    return _shrink(LaneReader(path), LaneReader(path).released(), excess)


def _shrink_dead(path: Path, excess: int) -> int:
    reader = LaneReader(path)
    acked, numbers = reader.released(), reader.segments()
    is_delivered = _is_delivered(reader, numbers)
    if not is_delivered and acked.segment <= numbers[0]:
        return 0
    adopted = lock_dead_lane(path)
    if adopted is None:
        return 0
    try:
        if not is_delivered:
            return _shrink(reader, acked, excess)
        size = sum(map(reader.segment_bytes, numbers))
        reader.delete()
        return size
    finally:
        adopted.close()


def _shrink(reader: LaneReader, acked: Position, excess: int) -> int:
    freed = 0
    for number in reader.segments():
        if number >= acked.segment or freed >= excess:
            break
        freed += reader.segment_bytes(number)
        reader.delete_segment(number)
    return freed


# --- what this process may append -------------------------------------------------------------------------------------


# The last fifth of the limit is reserved for calls: before it, payloads are replaced by markers.
_PAYLOAD_SHARE = 0.8
# All processes share the limit: each writes at most a 64th of it before it measures the folder again.
_LARGEST_SHARE = 64
# Measuring costs as much as some hundred appends, so no process does it for less than a 4096th of the limit.
_SMALLEST_SHARE = 4096
# How long a call waits for a measurement: if the last one found room; if it found none (once a second at most).
_WAIT_SECONDS, _FULL_WAIT_SECONDS = 0.25, 0.02
# How often to measure while there is room, and how often while there is none.
_MEASURE_SECONDS, _SHORT_MEASURE_SECONDS = 5.0, 1.0
# Not the generator of `random`: a program that seeds that one must get the numbers that it expects.
_random = SystemRandom()


class Quota:
    """The room that is left for this process, as of the last measurement.  Sizes in bytes."""

    __slots__ = (
        "_bytes_in_emergency",
        "_bytes_while_measuring",
        "_left",
        "_max_bytes",
        "_measured_at",
        "_measurements",
        "_now",
        "bytes_before_measuring",
    )

    def __init__(self, max_bytes: int, now: Callable[[], float]):
        """`max_bytes`: the limit of all processes.  `now`: seconds of a clock that only goes forward."""
        self.bytes_before_measuring = max_bytes // _LARGEST_SHARE
        """Bytes that may be appended before the folder has to be measured."""
        self._bytes_while_measuring = 0
        """Bytes that may be appended during a measurement, without waiting for it."""
        self._bytes_in_emergency = self.bytes_before_measuring
        """Bytes that may be appended in addition, if a measurement takes long."""
        self._left = max_bytes
        """Bytes that all processes together may append."""
        self._max_bytes = max_bytes
        self._now = now
        self._measured_at = now()
        self._measurements = 0

    def reserve(self, size: int, measure: Callable[[float], None]) -> bool:
        """Reserves `size` bytes; returns False if they are not available.

        Calls `measure(seconds)` when the folder has to be measured first: how long to wait for the result.
        """
        before = self._measurements
        if size > self.bytes_before_measuring and (self._left >= size or self._is_old(_SHORT_MEASURE_SECONDS)):
            reserve, self._bytes_while_measuring = self._bytes_while_measuring, 0
            self.bytes_before_measuring += reserve
            measure(
                0.0
                if size <= self.bytes_before_measuring
                else _WAIT_SECONDS
                if size <= self._left
                else _FULL_WAIT_SECONDS
            )
        if size <= self.bytes_before_measuring:
            self.bytes_before_measuring -= size
            return True
        if self._measurements > before and size <= self._left:
            self.bytes_before_measuring = 0
            return True
        if size > self._bytes_in_emergency:
            return False
        self._bytes_in_emergency -= size
        return True

    def begin_measurement(self) -> None:
        """To be called before the folder is measured, so that no other measurement begins meanwhile."""
        self._measured_at = self._now()

    def measured(self, remaining_bytes: int, active_lanes: int) -> bool:
        """Notes the bytes that are left for all processes.  Returns whether there is room for payloads, too."""
        self._left = remaining_bytes
        share = remaining_bytes // max(1, active_lanes)  # what each process may write before any of them measures again
        least, most = self._max_bytes // _SMALLEST_SHARE, self._max_bytes // _LARGEST_SHARE
        self.bytes_before_measuring = min(remaining_bytes, most, max(least, share // 2))
        self._bytes_while_measuring = max(0, min(self.bytes_before_measuring, share - self.bytes_before_measuring))
        self._bytes_in_emergency = max(0, share - self.bytes_before_measuring - self._bytes_while_measuring)
        return remaining_bytes > self._max_bytes * (1 - _PAYLOAD_SHARE)

    def end_measurement(self) -> None:
        """To be called after a measurement; if it failed, the room of the last one remains valid."""
        self._measurements += 1

    def is_measurement_due(self, *, more_often_if_short: bool = False) -> bool:
        """Whether the background should measure now, so that no call has to wait for it."""
        is_short = more_often_if_short and self._left <= self._max_bytes // 4
        return self._is_old(_SHORT_MEASURE_SECONDS if is_short else _MEASURE_SECONDS)

    def is_first_measurement_due(self) -> bool:
        """Whether a young process should measure the folder: it may end before its first regular measurement.

        Measuring takes time with thousands of lanes, so a process that writes little does so with a small
        probability: together, such processes measure once per so many bytes."""
        if self._measurements:
            return False
        written = self._max_bytes // _LARGEST_SHARE - self.bytes_before_measuring
        return _random.random() * (self._max_bytes // _SMALLEST_SHARE) < written

    def _is_old(self, seconds: float) -> bool:
        return self._now() - self._measured_at >= seconds


# --- work in the background -------------------------------------------------------------------------------------------


BACKGROUND_THREAD = "playhead-journal"


class BackgroundJob:
    """Runs one function in a thread of its own, never twice at a time.  Safe for threads; `forget` it in a child."""

    def __init__(self, job: Callable[[], object]):
        """No thread is started yet.  What `job` raises is logged once and swallowed."""
        self._job = job
        self.forget()

    def forget(self) -> None:
        """In a forked child: no thread of the parent is here."""
        self._mutex = threading.Lock()
        self._done = Bell()
        self._done.set()

    def run(self, wait_seconds: float) -> None:
        """Starts the job unless it is running, and waits up to `wait_seconds` for its end."""
        # Not blocking: a signal's handler may be called while its own thread has the mutex.
        if self._mutex.acquire(blocking=False):
            try:
                if self._done.is_set():
                    self._start()
            finally:
                self._mutex.release()
        if wait_seconds:
            self._done.wait(wait_seconds)

    def _start(self) -> None:
        self._done.clear()
        try:
            threading.Thread(target=self._run, name=BACKGROUND_THREAD, daemon=True).start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._run()

    def _run(self) -> None:
        try:
            self._job()
        except Exception as error:  # noqa: BLE001 - the guard: the program goes on, and so does recording
            log_internal_error("make room in the journal", error)
        finally:
            self._done.set()
