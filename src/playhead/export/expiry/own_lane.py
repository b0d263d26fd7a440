"""Deletes old, delivered segments in the lane of this process, as `dead_lanes` does for dead processes.

A segment is deleted as a whole. A new segment is begun when the current one reaches the least age at which anything is
deleted, so that segments become old in a process that records little, too. In the new segment contents are recorded
again, so it begins a group of segments that do not refer to earlier ones. A group is deleted when all of it is
delivered and old enough for its sessions, and when all runs with records in it have ended: no resume needs it then.
"""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from playhead.export.expiry.retention import Retention
from playhead.journal.ended_runs import EndedRuns, RunsSeen, merge_runs_seen, runs_in
from playhead.journal.index.updating import prune
from playhead.journal.lane import LaneReader

# Most bytes that one call reads: about 0.1 s of the shipping thread's time.
_MAX_BYTES = 64 * 2**20
# Ended runs to remember: background tasks of a run may record after its end, whose segment may be deleted already.
_MAX_ENDED = 10_000


class OwnExpiry:
    """Expiry of segments in one lane.  Used by one thread only."""

    def __init__(
        self,
        lane: Path,
        keep_seconds: float,
        begin_segment: Callable[[], int | None],
        wall: Callable[[], float] = time.time,
        *,
        after_end: bool = False,
    ):
        """`keep_seconds`: how long a segment is kept after the last append to it, unless a program has set another time
        for one of its sessions.

        `after_end`: a run is kept this long after its end, which may be in a later segment.

        `begin_segment` begins a new segment whose records do not refer to contents in earlier segments. It returns the
        segment's number, or None if it could not begin one or the current segment is empty.
        """
        self.lane = lane
        self._reader = LaneReader(lane)
        self._retention = Retention(lane.parent, keep_seconds)
        self._begin_segment = begin_segment
        self._wall = wall
        self._after_end = after_end
        self._began = wall()
        self._seen: dict[int, RunsSeen] = {}
        """The runs in complete segments, by segment number."""
        self._fresh = [0]
        """Numbers of the segments that do not refer to contents in earlier segments, in order."""
        self._ended: dict[bytes, None] = {}
        self._notes = EndedRuns(lane.parent)

    def run_once(self) -> int:
        """Deletes segments that are old and not needed, and returns their number.  Raises OSError."""
        least = self._retention.least_seconds
        if not 0 <= self._wall() - self._began < least:
            number = self._begin_segment()
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
        self._retention.learn(seen.values())
        gone: list[int] = []
        for _, members in groupby(numbers, self._group_of):
            group = list(members)
            if not all(number in ages and number in seen for number in group):
                continue
            runs_seen = merge_runs_seen(seen[number] for number in group)
            ends = [number for number, other in seen.items() if other.ended & runs_seen.runs] if self._after_end else []
            age = min(ages.get(number, 0.0) for number in (*group, *ends))
            if runs_seen.runs <= ended and age >= self._retention.seconds(runs_seen):
                gone += group
        return gone

    def _ended_runs(self, seen: Collection[RunsSeen]) -> set[bytes]:
        ended = {*self._ended, *self._notes.known()}
        new = frozenset[bytes]().union(*(runs_seen.ended for runs_seen in seen)) - ended
        self._notes.note(new)
        return ended | new

    def _read(self, numbers: list[int]) -> dict[int, RunsSeen]:
        seen: dict[int, RunsSeen] = {}
        remaining_bytes = _MAX_BYTES
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
            for run in list(self._ended)[: max(0, len(self._ended) - _MAX_ENDED)]:
                del self._ended[run]

    def _forget_groups(self, numbers: Collection[int]) -> None:
        groups = {self._group_of(number) for number in numbers}
        self._fresh = [fresh for fresh in self._fresh if fresh in groups] or [0]
