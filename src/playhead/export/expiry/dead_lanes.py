"""Deletes old, delivered lanes of dead processes, because their payloads are on disk in plain text.

Lanes of runs that have not ended are kept, because a resume may need them. The shipping thread checks a few lanes at a
time, and the following ones the next time. For the lane of this process see `own_lane`.

A lane with a session that is kept longer gets a file `kept-until`, so that it is not read again each time.
"""

import os
import time
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from playhead.export.cursor import is_released
from playhead.export.expiry.retention import Retention
from playhead.journal.ended_runs import EndedRuns, RunsSeen, merge_runs_seen, runs_in
from playhead.journal.files import open_private
from playhead.journal.index.updating import prune
from playhead.journal.lane import LaneReader, adopt, names_in

_MAX_BYTES = 64 * 2**20
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
    what: RunsSeen


class Expiry:
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
        names = self._part([name for name in names_in(self._journal_dir) if name != own_lane.name], most_lanes)
        old = [path for path in map(self._journal_dir.joinpath, names) if self._is_old(path)]
        if not old:
            return 0
        seen = self._read(old)
        noted = self._ended.known()
        ended = {run for lane in seen for run in lane.what.ended}
        # Before deletion: the record of a run's end may be in a deleted lane, and is needed to delete its other lanes.
        self._ended.note(ended - noted)
        for retention in (self._retention, self._local_retention):
            retention.learn(lane.what for lane in seen)
        over = [lane.path for lane in seen if lane.what.runs <= ended | noted and self._is_due(lane)]
        deleted = sum(map(self._delete, over))
        if deleted:
            prune(self._journal_dir)
        return deleted

    def _is_due(self, lane: _LaneRuns) -> bool:
        until = lane.since + self._retention_of(lane.is_local).seconds(lane.what)
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
            return is_old and _kept_until(path) <= self._wall() and is_released(path)
        return False

    def _read(self, paths: list[Path]) -> list[_LaneRuns]:
        seen: list[_LaneRuns] = []
        remaining_bytes = _MAX_BYTES
        for path in paths:
            reader = LaneReader(path)
            with suppress(OSError):
                numbers = reader.segments()
                size = sum(map(reader.segment_bytes, numbers))
                if seen and size > remaining_bytes:
                    break
                remaining_bytes -= size
                runs_seen = merge_runs_seen(runs_in(reader.segment_path(n).read_bytes()) for n in numbers)
                seen.append(_LaneRuns(path, since(path), reader.is_for_nobody(), runs_seen))
        return seen

    def _delete(self, path: Path) -> bool:
        with suppress(OSError):  # another process may delete it at the same time
            adopted = adopt(path)
            if adopted is not None:
                try:
                    if is_released(path):
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
