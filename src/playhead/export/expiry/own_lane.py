"""Deletes old, delivered segments in the lane of the living process, as `dead_lanes` does for dead processes.

A segment is deleted as a whole. A new segment is begun when the current one reaches the age limit, so that segments
become old in a process that records little, too. In the new segment contents are recorded again: so everything that a
resume of a run needs is in the segment in which the run began and in later ones. These are kept until the run has
ended.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from playhead.export.expiry.ended_runs import EndedRuns
from playhead.export.expiry.runs_seen import RunsSeen, runs_in
from playhead.journal.index.pruning import prune
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
    ):
        """`keep_seconds`: how long a segment is kept after the last append to it.

        `begin_segment` begins a new segment whose records do not refer to contents in earlier segments. It returns the
        segment's number, or None if it could not begin one or the current segment is empty.
        """
        self.lane = lane
        self._reader = LaneReader(lane)
        self._keep_seconds = keep_seconds
        self._begin_segment = begin_segment
        self._wall = wall
        self._began = wall()
        self._seen: dict[int, RunsSeen] = {}
        """The runs in segments that are complete, by segment number."""
        self._fresh = [0]
        """Numbers of the segments that do not refer to contents in earlier segments."""
        self._ended: dict[bytes, None] = {}
        self._notes = EndedRuns(lane.parent)

    def run_once(self) -> int:
        """Deletes segments that are old and not needed, and returns their number.  Raises OSError."""
        if not 0 <= self._wall() - self._began < self._keep_seconds:
            number = self._begin_segment()
            self._began = self._wall()
            if number is not None:
                self._fresh.append(number)
        numbers = self._reader.segments()
        acked = self._reader.released().segment
        over = list(takewhile(lambda number: number < acked and self._is_over(number), numbers[:-1]))
        if not over:
            return 0
        needed = self._needed_from(numbers)
        gone = [number for number in over if number < needed]
        for number in gone:
            self._reader.delete_segment(number)
            self._forget(number)
        if gone:
            prune(self.lane.parent)
        return len(gone)

    def _is_over(self, number: int) -> bool:
        with suppress(FileNotFoundError):
            return self._reader.segment_path(number).stat().st_mtime + self._keep_seconds <= self._wall()
        return True

    def _needed_from(self, numbers: list[int]) -> int:
        """The first segment that may be needed for a resume."""
        ended = {*self._ended, *self._notes.known()}
        seen = self._read(numbers)
        new = frozenset[bytes]().union(*(each.ended for each in seen.values())) - ended
        self._notes.note(new)
        ended |= new
        open_from = [number for number, each in seen.items() if each.runs - ended]
        return self._fresh_before(min([*open_from, max(seen, default=0) + 1]))

    def _read(self, numbers: list[int]) -> dict[int, RunsSeen]:
        seen: dict[int, RunsSeen] = {}
        left = _MAX_BYTES
        for number in numbers:
            if number not in self._seen:
                left -= self._reader.segment_bytes(number)
                if left < 0 and seen:
                    break  # the next call reads the rest; until then, segments that the rest may need are kept
                with suppress(FileNotFoundError):
                    self._seen[number] = runs_in(self._reader.segment_path(number).read_bytes())
            if number in self._seen:
                seen[number] = self._seen[number]
        self._seen.pop(numbers[-1], None)  # the current segment still grows
        return seen

    def _fresh_before(self, number: int) -> int:
        return max((fresh for fresh in self._fresh if fresh <= number), default=0)

    def _forget(self, number: int) -> None:
        seen = self._seen.pop(number, None)
        if seen is not None:
            self._ended.update(dict.fromkeys(seen.ended))
            for run in list(self._ended)[: max(0, len(self._ended) - _MAX_ENDED)]:
                del self._ended[run]
        while len(self._fresh) > 1 and self._fresh[1] <= number:
            del self._fresh[0]
