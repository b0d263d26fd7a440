"""journal → [left_runs] ══▶ collector.  Says of runs that a crash has left open that all their records have arrived.

Only then another machine resumes such a run without being forced to: what this one had recorded and not delivered might
be done again there.  Said is it when no process of this journal has the run any more, by whoever delivers what dead
processes have left.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from playhead.export.cursor import is_delivered
from playhead.journal.ended.runs_seen import begun_and_open
from playhead.journal.files import open_private
from playhead.journal.lane import LaneReader, is_owned, lanes
from playhead.journal.leases import abandoned_runs, journal_name, take_local

_TOLD = "left-runs-told"
# A dead process's lane is read once for this; the rest has time until the next look.
_MAX_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class LeftRun:
    """A run that nobody on this machine goes on with, and all of whose records here were delivered. `attempt`: the one
    that was left; None: whichever this journal has made."""

    run_id: str
    attempt: int | None
    process: str


Tell = Callable[[LeftRun, str], None]
"""Tells the collector of it, with this journal's name. Raises what it raises."""


def tell_of_left_runs(journal_dir: Path, tell: Tell) -> None:
    """Tells the collector of all left runs that it does not know of. Raises OSError, and what `tell` raises."""
    dead = [lane for lane in lanes(journal_dir) if not is_owned(lane)]
    begun = list(_begun(lane for lane in dead if not (lane / _TOLD).exists() and _has_arrived(lane)))
    resumed = [LeftRun(run_id, None, "") for run_id in abandoned_runs(journal_dir)]
    left = [run for _, runs in begun for run in runs]
    busy = _busy(journal_dir, {run.run_id for run in (*left, *resumed)}) if left or resumed else set[str]()
    name = journal_name(journal_dir) if left or resumed else ""
    for run in resumed:
        _tell_alone(journal_dir, run, busy, lambda run: tell(run, name))
    for lane, runs in begun:
        for run in runs:
            _tell_alone(journal_dir, run, busy, lambda run: tell(run, name))
        if not busy.intersection(run.run_id for run in runs):
            _mark(lane)


def _tell_alone(journal_dir: Path, run: LeftRun, busy: set[str], tell: Callable[[LeftRun], None]) -> None:
    """While no process of this machine can resume it."""
    if run.run_id in busy:
        return
    lock = take_local(journal_dir, run.run_id)
    if lock is None:
        return  # resumed: who does that says the same when it ends
    try:
        tell(run)
    except BaseException:
        lock.abandon()  # the file stays, so that it is tried again
        raise
    lock.release()


def _begun(dead: Iterable[Path]) -> Iterator[tuple[Path, list[LeftRun]]]:
    """Lanes that were delivered, and the runs that began there and have not ended there."""
    left = _MAX_BYTES
    for lane in dead:
        reader = LaneReader(lane)
        numbers = reader.segments()
        left -= sum(map(reader.segment_bytes, numbers))
        with suppress(FileNotFoundError):  # its space was given back meanwhile
            found = begun_and_open(reader.segment_path(number).read_bytes() for number in numbers)
            yield lane, [LeftRun(run_id, 0, process) for run_id, process in found.items()]
        if left < 0:
            return


def _busy(journal_dir: Path, runs: set[str]) -> set[str]:
    """Those of the runs that a living process has, or of which not everything was delivered."""
    found: set[str] = set()
    for lane in lanes(journal_dir):
        if not is_owned(lane) and _has_arrived(lane):
            continue
        reader = LaneReader(lane)
        for number in reader.segments():
            with suppress(FileNotFoundError):
                data = reader.segment_path(number).read_bytes()
                found |= {run for run in runs - found if run.encode() in data}
    return found


def _has_arrived(lane: Path) -> bool:
    """Whether all that was ever written to the lane was delivered, also what its files have lost."""
    return is_delivered(lane) and not any(
        end.is_certain and not end.is_delivered for end in LaneReader(lane).lost_ends()
    )


def _mark(lane: Path) -> None:
    with suppress(OSError):  # deleted meanwhile; or it is told again
        os.close(open_private(lane / _TOLD, os.O_WRONLY))
