"""Forecasts for each lane of a journal when it is deleted, or what keeps it. Deletes nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playhead.export.expiry import Retention, last_record, since
from playhead.journal.ended_runs import EndedRuns, SegmentRuns, merge_segment_runs, runs_in
from playhead.journal.lane import LaneReader, LostEnd, is_owned, lanes
from playhead.settings.sdk import Settings


@dataclass(frozen=True, slots=True)
class LaneForecast:
    """A lane and its forecast. Times in seconds since 1970."""

    path: Path
    bytes: int
    is_living: bool
    """Whether its process still records."""
    runs: int
    open_runs: int
    """Runs whose end is in no file of the journal."""
    last_record: float
    not_delivered: tuple[str, ...]
    """Destinations that lack a part of the lane; the collector is called "the collector"."""
    expires: float | None
    """When the lane is deleted; None: not before the reason in `kept_by` has ended."""
    kept_by: str
    lost_ends: tuple[LostEnd, ...]


def forecast(journal_dir: Path, settings: Settings) -> list[LaneForecast]:
    """Forecasts for all lanes, oldest first. Reads all segments. Raises OSError."""
    lane_runs = [(path, _runs_of(LaneReader(path))) for path in lanes(journal_dir)]
    ended = EndedRuns(journal_dir).read().union(*(seen.ended for _, seen in lane_runs))
    delivered = Retention(journal_dir, settings.journal_keep_seconds)
    local = Retention(journal_dir, settings.local_keep_seconds)
    for retention in (delivered, local):
        retention.read_new(seen for _, seen in lane_runs)
    return [
        _forecast(path, seen, ended, local.seconds if LaneReader(path).is_for_nobody() else delivered.seconds)
        for path, seen in lane_runs
    ]


def _forecast(path: Path, seen: SegmentRuns, ended: set[bytes], keeps: Callable[[SegmentRuns], float]) -> LaneForecast:
    reader = LaneReader(path)
    is_living = is_owned(path)
    open_runs = len(seen.runs - ended)
    lacking = _not_delivered(path)
    kept_by = ""
    if is_living:
        kept_by = "its process records"
    elif lacking:
        kept_by = f"not delivered to {', '.join(lacking)}"
    elif open_runs:
        kept_by = f"{open_runs} open run{'s' if open_runs > 1 else ''}"
    return LaneForecast(
        path,
        sum(map(reader.segment_bytes, reader.segments())),
        is_living,
        len(seen.runs),
        open_runs,
        last_record(path),
        lacking,
        None if kept_by else since(path) + keeps(seen),
        kept_by,
        tuple(reader.lost_ends()),
    )


def _not_delivered(path: Path) -> tuple[str, ...]:
    if LaneReader(path).is_for_nobody():
        return ()
    readers = [("the collector", LaneReader(path))] if LaneReader(path).is_begun() else []
    readers += [(name, LaneReader(path, name)) for name in LaneReader(path).destinations()]
    return tuple(name for name, reader in readers if reader.acked() < reader.end())


def _runs_of(reader: LaneReader) -> SegmentRuns:
    return merge_segment_runs(runs_in(reader.segment_path(number).read_bytes()) for number in reader.segments())
