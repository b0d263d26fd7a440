"""journal → [left_runs] ══▶ collector. Reports runs that a crash has left open and whose records have all arrived.

Only then may another machine resume such a run without force: otherwise it could repeat what this machine has recorded
and not delivered. A run is reported when no process of this journal has it any more, by the process that delivers the
lanes of dead processes.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from playhead.export.shipment import is_delivered
from playhead.journal.ended_runs import begun_and_open
from playhead.journal.files import open_private
from playhead.journal.lane import LaneReader, is_owned, lanes
from playhead.journal.leases import abandoned_runs, acquire_lease, journal_name

_TOLD = "left-runs-told"
# Most bytes of lanes that one call reads (plus the rest of a lane). The next call reads further lanes.
_MAX_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class LeftRun:
    """A run that no process of this machine continues, and all of whose records here were delivered. `attempt`: the
    attempt that was left; None: any attempt that this journal has made."""

    run_id: str
    attempt: int | None
    process: str


Tell = Callable[[LeftRun, str], None]
"""Reports a run to the collector; the text is the name of this journal. May raise any exception."""


def tell_of_left_runs(journal_dir: Path, tell: Tell) -> None:
    """Reports all left runs to the collector that it does not know of. Raises OSError, and any exception of `tell`."""
    dead = [lane for lane in lanes(journal_dir) if not is_owned(lane)]
    begun = list(_begun(lane for lane in dead if not (lane / _TOLD).exists() and _has_arrived(lane)))
    resumed = [LeftRun(run_id, None, "") for run_id in abandoned_runs(journal_dir)]
    left_runs = [run for _, runs in begun for run in runs]
    busy = _busy(journal_dir, {run.run_id for run in (*left_runs, *resumed)}) if left_runs or resumed else set[str]()
    name = journal_name(journal_dir) if left_runs or resumed else ""
    for run in resumed:
        _tell_alone(journal_dir, run, busy, lambda run: tell(run, name))
    for lane, runs in begun:
        for run in runs:
            _tell_alone(journal_dir, run, busy, lambda run: tell(run, name))
        if not busy.intersection(run.run_id for run in runs):
            _mark(lane)


def _tell_alone(journal_dir: Path, run: LeftRun, busy: set[str], tell: Callable[[LeftRun], None]) -> None:
    """Reports the run while no other process of this machine can resume it. Does nothing if a process has it."""
    if run.run_id in busy:
        return
    lock = acquire_lease(journal_dir, run.run_id)
    if lock is None:
        return  # resumed: the process that did so reports it when it ends
    try:
        tell(run)
    except BaseException:
        lock.forget_after_fork()  # the lock's file stays, so that the report is tried again
        raise
    lock.release()


def _begun(dead: Iterable[Path]) -> Iterator[tuple[Path, list[LeftRun]]]:
    """Yields each lane with the runs that began there and have not ended there. `dead`: lanes that were delivered."""
    remaining_bytes = _MAX_BYTES
    for lane in dead:
        reader = LaneReader(lane)
        numbers = reader.segments()
        remaining_bytes -= sum(map(reader.segment_bytes, numbers))
        with suppress(FileNotFoundError):  # its space was reclaimed meanwhile
            open_runs = begun_and_open(reader.segment_path(number).read_bytes() for number in numbers)
            yield lane, [LeftRun(run_id, 0, process) for run_id, process in open_runs.items()]
        if remaining_bytes < 0:
            return


def _busy(journal_dir: Path, runs: set[str]) -> set[str]:
    """The runs among `runs` that a living process has, or that were not delivered completely."""
    busy: set[str] = set()
    for lane in lanes(journal_dir):
        if not is_owned(lane) and _has_arrived(lane):
            continue
        reader = LaneReader(lane)
        for number in reader.segments():
            with suppress(FileNotFoundError):
                data = reader.segment_path(number).read_bytes()
                busy |= {run for run in runs - busy if run.encode() in data}
    return busy


def _has_arrived(lane: Path) -> bool:
    """Whether all that was ever written to the lane was delivered, including what its files have lost."""
    return is_delivered(lane) and not any(
        end.is_certain and not end.is_delivered for end in LaneReader(lane).lost_ends()
    )


def _mark(lane: Path) -> None:
    with suppress(OSError):  # deleted meanwhile; otherwise the runs are reported again
        os.close(open_private(lane / _TOLD, os.O_WRONLY))
