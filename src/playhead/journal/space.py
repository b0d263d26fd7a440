"""The size limit of the journal's folder: measures what all processes have written, and deletes acknowledged segments.

Records that were not acknowledged are never deleted here.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from playhead.journal.ended.ended_runs import EndedRuns
from playhead.journal.ended.runs_seen import RunsSeen, merge_runs_seen, runs_in
from playhead.journal.index.pruning import prune
from playhead.journal.lane import LaneReader, Position, adopt, lanes

# A process that has not written for a minute measures again before it writes much.
_ACTIVE_SECONDS = 60.0
# About 0.1 s of a background thread's time.
_MAX_READ = 64 * 2**20


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
        for size, changed in _segments(LaneReader(path)):
            total += size
            newest = max(newest, changed)
        active += newest > recently
    return DiskUsage(total, active)


def _segments(reader: LaneReader) -> Iterator[tuple[int, float]]:
    for number in reader.segments():
        with suppress(FileNotFoundError):  # deleted in the meantime
            state = reader.segment_path(number).stat()
            yield state.st_size, state.st_mtime


def reclaim(journal_dir: Path, own_lane: Path | None, excess: int, *, seconds: float = float("inf")) -> int:
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
    """Deletes delivered lanes of dead processes whose runs have all ended.  Reads the oldest `_MAX_READ` bytes only."""
    freed, remaining_bytes = 0, _MAX_READ
    notes = EndedRuns(journal_dir)
    ended = notes.known()
    for path in lane_paths:
        if freed >= excess or remaining_bytes <= 0:
            break
        with suppress(OSError):
            reader = LaneReader(path)
            numbers = reader.segments()
            if not _is_delivered(reader, numbers):
                continue
            remaining_bytes -= sum(map(reader.segment_bytes, numbers))
            seen = merge_runs_seen(runs_in(reader.segment_path(number).read_bytes()) for number in numbers)
            if new := seen.ended - ended:
                notes.note(new)  # before the lane is deleted: other lanes of these runs do not have their end
                ended |= new
            if seen.runs <= ended:
                freed += _shrink_dead(path, excess - freed)
    return freed


def _is_delivered(reader: LaneReader, numbers: Sequence[int]) -> bool:
    return not numbers or reader.released() >= reader.end()


def _shrink_ended(journal_dir: Path, path: Path, excess: int, *, is_own: bool) -> int:
    """Deletes the oldest segments whose runs have ended. For lanes without destinations, which have the only copy of
    open runs."""
    adopted = None if is_own else adopt(path)
    if adopted is None and not is_own:
        return 0
    try:
        return _delete_ended_segments(LaneReader(path), EndedRuns(journal_dir), excess)
    finally:
        if adopted is not None:
            adopted.close()


def _delete_ended_segments(reader: LaneReader, notes: EndedRuns, excess: int) -> int:
    freed, remaining_bytes = 0, _MAX_READ
    ended = notes.known()
    waiting: list[tuple[int, RunsSeen]] = []
    for number in reader.segments():
        remaining_bytes -= reader.segment_bytes(number)
        if remaining_bytes < 0:
            break
        seen = runs_in(reader.segment_path(number).read_bytes())
        notes.note(seen.ended - ended)  # before the segment is deleted: others of these runs do not have their end
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
    adopted = adopt(path)
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
