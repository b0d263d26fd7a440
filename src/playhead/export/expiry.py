"""Deletes delivered records by age: lanes of dead processes, and segments in the lane of this process.

Payloads are on disk in plain text, so they are not kept longer than needed: as long as a program has set for their
session or run (`run(retention=...)`), otherwise as long as the settings say. The time is recorded with a run's
beginning. It is also noted in a file of the journal's folder: other runs of the session have lanes of their own, and
the lane that has the time may be deleted first (`Retention`).

Lanes of dead processes are deleted as a whole, unless one of their runs has not ended, because a resume may need them.
The shipping thread checks a few lanes at a time, and the following ones the next time. A lane with a session that is
kept longer gets a file `kept-until`, so that it is not read again each time (`DeadLaneExpiry`).

In the lane of this process, a segment is deleted as a whole (`OwnLaneExpiry`). A new segment is begun when the current
one reaches the least age at which anything is deleted, so that segments become old in a process that records little,
too. In the new segment contents are recorded again, so it begins a group of segments that do not refer to earlier ones.
A group is deleted when all of it is delivered and old enough for its sessions, and when all runs with records in it
have ended: no resume needs it then.
"""

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import SystemRandom

from playhead.export.shipment import is_delivered_everywhere
from playhead.journal.ended_runs import EndedRuns, SegmentRuns, SharedLinesFile, merge_segment_runs, runs_in
from playhead.journal.files import open_private
from playhead.journal.index.pruning import prune
from playhead.journal.lane import LaneReader, entries_of, lock_dead_lane
from playhead.settings.sdk import MAX_SECONDS, MIN_SECONDS

# --- how long records are kept ----------------------------------------------------------------------------------------


_RETENTION_FILE = "retention"


class Retention:
    """How long the runs of one journal are kept. Belongs to one thread; other processes may use the file, too."""

    def __init__(self, journal_dir: Path, default_seconds: float):
        """`default_seconds`: for runs for which no time was set. Does not access the disk."""
        self._lines = SharedLinesFile(journal_dir / _RETENTION_FILE)
        self._default = default_seconds
        self._periods: Mapping[bytes, float] = {}

    @property
    def least_seconds(self) -> float:
        """How long everything is kept; older records have to be read to know whether they are kept longer."""
        return min(self._default, MIN_SECONDS)

    def update(self, seen: Iterable[SegmentRuns]) -> None:
        """Reads the times from these records and the file, and adds to the file those that it lacks. Raises OSError."""
        new = self.read_new(seen)
        self._lines.append(b"%s %d" % (key, seconds) for key, seconds in sorted(new.items()))

    def read_new(self, seen: Iterable[SegmentRuns]) -> Mapping[bytes, float]:
        """Reads the times from these records and the file. Returns those that the file lacks. Raises OSError."""
        noted: dict[bytes, float] = {}
        for line in self._lines.read():
            key, _, seconds = line.partition(b" ")
            if seconds.isdigit():
                noted[key] = float(seconds)
        new: dict[bytes, float] = {}
        for runs_seen in seen:
            for key, seconds in runs_seen.retention.items():
                if min(seconds, MAX_SECONDS) > max(noted.get(key, 0.0), new.get(key, 0.0)):
                    new[key] = min(seconds, MAX_SECONDS)
        self._periods = noted | new
        return new

    def seconds(self, seen: SegmentRuns) -> float:
        """How long to keep records of these runs: the longest time of one of them."""
        return max((self._of_run(run, seen.sessions.get(run)) for run in seen.runs), default=self._default)

    def _of_run(self, run: bytes, session: bytes | None) -> float:
        periods = [self._periods[key] for key in (run, session) if key is not None and key in self._periods]
        return max(periods, default=self._default)


# --- lanes of dead processes ------------------------------------------------------------------------------------------


_MAX_READ_BYTES = 64 * 2**20
_KEPT_UNTIL = "kept-until"
# Not the generator of `random`: a program that seeds that one must get the numbers that it expects.
_random = SystemRandom()


@dataclass(frozen=True, slots=True)
class _LaneRuns:
    path: Path
    since: float
    """When its last record was delivered, or written if the lane has no destination; in seconds since 1970."""
    is_local: bool
    """Whether the lane has no destination, not even the collector."""
    runs: SegmentRuns


class DeadLaneExpiry:
    """Expiry of dead processes' lanes in one journal.  Used by one thread only."""

    def __init__(
        self,
        journal_dir: Path,
        keep_seconds: float,
        wall: Callable[[], float] = time.time,
        start: Callable[[], float] = _random.random,
        *,
        local_keep_seconds: float | None = None,
    ):
        """`keep_seconds`: how long a lane is kept after its last record was delivered, unless a program has set another
        time for one of its sessions; `local_keep_seconds`: the same for lanes without a destination, after their last
        record; None: `keep_seconds`.

        `wall`: returns the time in seconds since 1970. `start`: returns the lane to begin with, as a share of all lanes
        from 0 to 1. It is random, so that short-lived programs, which check only a few lanes each, reach all lanes in
        the long run.
        """
        self._journal_dir = journal_dir
        self._retention = Retention(journal_dir, keep_seconds)
        self._local_retention = Retention(
            journal_dir, keep_seconds if local_keep_seconds is None else local_keep_seconds
        )
        self._wall = wall
        self._start = start
        self._after: str | None = None
        self._ended = EndedRuns(journal_dir)

    def run_once(self, own_lane: Path, most_lanes: int = 200) -> int:
        """Checks up to `most_lanes` lanes, but not `own_lane`. Returns the number of deleted lanes.

        Raises OSError if the journal cannot be read.
        """
        # By name only: checking whether each of thousands is a lane takes 100 times as long as listing them.
        names = self._part([name for name in entries_of(self._journal_dir) if name != own_lane.name], most_lanes)
        old = [path for path in map(self._journal_dir.joinpath, names) if self._is_old(path)]
        if not old:
            return 0
        seen = self._read(old)
        noted = self._ended.read()
        ended = {run for lane in seen for run in lane.runs.ended}
        # Before deletion: the record of a run's end may be in a deleted lane, and is needed to delete its other lanes.
        self._ended.add(ended - noted)
        for retention in (self._retention, self._local_retention):
            retention.update(lane.runs for lane in seen)
        over = [lane.path for lane in seen if lane.runs.runs <= ended | noted and self._is_due(lane)]
        deleted = sum(map(self._delete, over))
        if deleted:
            prune(self._journal_dir)
        return deleted

    def _is_due(self, lane: _LaneRuns) -> bool:
        until = lane.since + self._retention_of(lane.is_local).seconds(lane.runs)
        if until <= self._wall():
            return True
        with suppress(OSError):
            fd = open_private(lane.path / _KEPT_UNTIL, os.O_WRONLY | os.O_TRUNC)
            with os.fdopen(fd, "w") as file:
                file.write(str(until))
        return False

    def _retention_of(self, is_local: bool) -> Retention:
        return self._local_retention if is_local else self._retention

    def _part(self, names: list[str], most: int) -> list[str]:
        if len(names) <= most:
            return names
        first = int(self._start() * len(names)) if self._after is None else bisect_right(names, self._after)
        part = (names[first:] + names[:first])[:most]
        self._after = part[-1]
        return part

    def _is_old(self, path: Path) -> bool:
        with suppress(OSError):
            retention = self._retention_of(LaneReader(path).is_for_nobody())
            is_old = since(path) + retention.least_seconds <= self._wall()
            return is_old and _kept_until(path) <= self._wall() and is_delivered_everywhere(path)
        return False

    def _read(self, paths: list[Path]) -> list[_LaneRuns]:
        seen: list[_LaneRuns] = []
        remaining_bytes = _MAX_READ_BYTES
        for path in paths:
            reader = LaneReader(path)
            with suppress(OSError):
                numbers = reader.segments()
                size = sum(map(reader.segment_bytes, numbers))
                if seen and size > remaining_bytes:
                    break
                remaining_bytes -= size
                runs_seen = merge_segment_runs(runs_in(reader.segment_path(n).read_bytes()) for n in numbers)
                seen.append(_LaneRuns(path, since(path), reader.is_for_nobody(), runs_seen))
        return seen

    def _delete(self, path: Path) -> bool:
        with suppress(OSError):  # another process may delete it at the same time
            adopted = lock_dead_lane(path)
            if adopted is not None:
                try:
                    if is_delivered_everywhere(path):
                        LaneReader(path).delete()
                        return True
                finally:
                    adopted.close()
        return False


def since(path: Path) -> float:
    """When the time of a lane begins to count, in seconds since 1970: its last record was delivered, or was written if
    the lane has no destination. Raises OSError."""
    if LaneReader(path).is_for_nobody():
        return last_record(path)
    return (path / "acked").stat().st_mtime


def last_record(path: Path) -> float:
    """When the last record of a lane was written, in seconds since 1970; 0 if the lane has no files. Raises OSError."""
    reader = LaneReader(path)
    return max((reader.segment_path(number).stat().st_mtime for number in reader.segments()), default=0.0)


def _kept_until(path: Path) -> float:
    try:
        return float((path / _KEPT_UNTIL).read_text())
    except (FileNotFoundError, ValueError):
        return 0.0


# --- the lane of this process -----------------------------------------------------------------------------------------


# Ended runs to remember: background tasks of a run may record after its end, whose segment may be deleted already.
_MAX_ENDED_RUNS = 10_000


class OwnLaneExpiry:
    """Expiry of segments in one lane.  Used by one thread only."""

    def __init__(
        self,
        lane: Path,
        keep_seconds: float,
        start_segment: Callable[[], int | None],
        wall: Callable[[], float] = time.time,
        *,
        after_end: bool = False,
    ):
        """`keep_seconds`: how long a segment is kept after the last append to it, unless a program has set another time
        for one of its sessions.

        `after_end`: a run is kept this long after its end, which may be in a later segment.

        `start_segment` begins a new segment whose records do not refer to contents in earlier segments. It returns the
        segment's number, or None if it could not begin one or the current segment is empty.
        """
        self.lane = lane
        self._reader = LaneReader(lane)
        self._retention = Retention(lane.parent, keep_seconds)
        self._start_segment = start_segment
        self._wall = wall
        self._after_end = after_end
        self._began = wall()
        self._seen: dict[int, SegmentRuns] = {}
        """The runs in complete segments, by segment number."""
        self._fresh = [0]
        """Numbers of the segments that do not refer to contents in earlier segments, in order."""
        self._ended: dict[bytes, None] = {}
        self._notes = EndedRuns(lane.parent)

    def run_once(self) -> int:
        """Deletes segments that are old and not needed, and returns their number.  Raises OSError."""
        least = self._retention.least_seconds
        if not 0 <= self._wall() - self._began < least:
            number = self._start_segment()
            self._began = self._wall()
            if number is not None:
                self._fresh.append(number)
        numbers = self._reader.segments()
        acked = self._reader.released().segment
        ages = {number: self._age(number) for number in numbers[:-1] if number < acked}
        if not any(age >= least for age in ages.values()):
            return 0
        gone = self._deletable(numbers, ages)
        for number in gone:
            self._reader.delete_segment(number)
            self._forget(number)
        self._forget_groups(set(numbers) - set(gone))
        if gone:
            prune(self.lane.parent)
        return len(gone)

    def _age(self, number: int) -> float:
        with suppress(FileNotFoundError):
            return self._wall() - self._reader.segment_path(number).stat().st_mtime
        return float("inf")

    def _deletable(self, numbers: list[int], ages: Mapping[int, float]) -> list[int]:
        """The segments of groups that are not needed any more. `ages`: in seconds, by number, of delivered segments
        only."""
        seen = self._read(numbers)
        ended = self._ended_runs(seen.values())
        self._retention.update(seen.values())
        gone: list[int] = []
        for _, members in groupby(numbers, self._group_of):
            group = list(members)
            if not all(number in ages and number in seen for number in group):
                continue
            runs_seen = merge_segment_runs(seen[number] for number in group)
            ends = [number for number, other in seen.items() if other.ended & runs_seen.runs] if self._after_end else []
            age = min(ages.get(number, 0.0) for number in (*group, *ends))
            if runs_seen.runs <= ended and age >= self._retention.seconds(runs_seen):
                gone += group
        return gone

    def _ended_runs(self, seen: Collection[SegmentRuns]) -> set[bytes]:
        ended = {*self._ended, *self._notes.read()}
        new = frozenset[bytes]().union(*(runs_seen.ended for runs_seen in seen)) - ended
        self._notes.add(new)
        return ended | new

    def _read(self, numbers: list[int]) -> dict[int, SegmentRuns]:
        seen: dict[int, SegmentRuns] = {}
        remaining_bytes = _MAX_READ_BYTES
        for number in numbers:
            if number not in self._seen:
                remaining_bytes -= self._reader.segment_bytes(number)
                if remaining_bytes < 0 and seen:
                    break  # the next call reads the rest; until then, runs that end there count as open
                with suppress(FileNotFoundError):
                    self._seen[number] = runs_in(self._reader.segment_path(number).read_bytes())
            if number in self._seen:
                seen[number] = self._seen[number]
        self._seen.pop(numbers[-1], None)  # the current segment still grows
        return seen

    def _group_of(self, number: int) -> int:
        return max((fresh for fresh in self._fresh if fresh <= number), default=0)

    def _forget(self, number: int) -> None:
        seen = self._seen.pop(number, None)
        if seen is not None:
            self._ended.update(dict.fromkeys(seen.ended))
            for run in list(self._ended)[: max(0, len(self._ended) - _MAX_ENDED_RUNS)]:
                del self._ended[run]

    def _forget_groups(self, numbers: Collection[int]) -> None:
        groups = {self._group_of(number) for number in numbers}
        self._fresh = [fresh for fresh in self._fresh if fresh in groups] or [0]
