"""api ← [journal]: finds out whether another process has taken over a run that this process has begun or resumed.

A process that takes a run over on this machine notes it where the owner looks before each call: in the lane of the
process that has begun the run (`take_from`), or by replacing the lease of the process that has resumed it (`leases`).
The collector knows of a takeover on another machine. It reports it in its answers to deliveries and to the heartbeats
of a lease. After this process has stood still (`Pulse`) and could not receive these, the collector is asked.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from playhead.journal.ended_runs import SharedLinesFile
from playhead.journal.lane import is_own, is_owned
from playhead.kernel.guard import guarded, log

# For records, a check that is this old is enough: checking the disk for each would cost as much as writing it.
_TRUSTED_SECONDS = 0.02
# Ten times a second, a thread notes that this process runs: 0.05 % of a core. A pause too short to be noticed is also
# too short for another process to read a run's record, take the run over and execute something.
_BEAT_SECONDS, _LATE_SECONDS = 0.1, 0.25
# A collector that does not answer must not hold up each call.
_ASK_AGAIN_SECONDS = 5.0
_FILE = "taken-over"


class Unsure(Exception):
    """It cannot be found out at present whether the run was taken over."""


class Pulse:
    """Notes when this process has stood still: stopped by a signal, or with its machine. `stop` ends its thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        """Does not start the thread; without it, nothing is noted."""
        self._now = now
        self._noted = 0, float("inf")
        """The number of stops, and the time of the last beat. Replaced as a whole: other threads read both."""
        self._running: threading.Event | None = None
        """Setting it ends the thread; None: there is no thread."""

    def start(self) -> None:
        """Starts the thread. Not safe for threads; does nothing while there is one."""
        if self._running is not None:
            return
        self._noted, self._running = (self._noted[0], self._now()), threading.Event()
        try:
            threading.Thread(target=self._run, args=(self._running,), name="playhead-pulse", daemon=True).start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._running = None

    def beat(self) -> None:
        """Notes that the process runs, and whether it has stood still before that."""
        now = self._now()
        stops, latest = self._noted
        self._noted = stops + (now - latest > _LATE_SECONDS), now

    def stops(self) -> int:
        """How often this process has stood still so far."""
        stops, latest = self._noted
        return stops + (self._running is not None and self._now() - latest > _LATE_SECONDS)

    def stop(self) -> None:
        """Ends the thread."""
        if self._running is not None:
            self._running.set()
        self._running = None

    def after_fork(self) -> None:
        """In a forked child, which has no such thread until `start`."""
        self._running = None

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(_BEAT_SECONDS):
            self.beat()


class RunOwnership:
    """Implements `calls.recorder.RunOwner`."""

    def __init__(
        self,
        look: Callable[[], str | None],
        ask: Callable[[], str | None],
        stops: Callable[[], int],
        now: Callable[[], float] = time.monotonic,
    ):
        """`look` returns a sentence about the process that has taken the run over on this machine; None: no process
        has. `ask` asks the collector the same for other machines; raises Unsure, or OSError. `stops` returns how often
        this process has stood still."""
        self._look = look
        self._ask = ask
        self._stops = stops
        self._now = now
        self._loss: str | None = None
        self._look_at = float("-inf")
        self._ask_at = float("-inf")
        self._known_stops = stops()

    def loss(self, *, exact: bool) -> str | None:
        now = self._now()
        if self._loss is None and (exact or now >= self._look_at):
            with guarded("see who has the run"):
                self._find_out(now)
            self._look_at = self._now() + _TRUSTED_SECONDS
        return self._loss

    def lose(self, why: str) -> None:
        """Notes, with one warning, that another process has the run: nothing more of it is executed or recorded
        here."""
        is_first, self._loss = self._loss is None, self._loss or why
        if is_first:
            log.warning("%s", why)

    def _find_out(self, now: float) -> None:
        why, stops = self._look(), self._stops()
        if why is None and stops != self._known_stops and now >= self._ask_at:
            try:
                why = self._ask()
                self._known_stops = stops
            except (Unsure, OSError):  # without descriptors, not even what asks can be loaded
                self._ask_at = self._now() + _ASK_AGAIN_SECONDS
        if why is not None:
            self.lose(why)


class OwnRuns:
    """The ownerships of one process, by run and attempt. Safe for threads."""

    def __init__(self) -> None:
        self.pulse = Pulse()
        self.lane: Callable[[], Path | None] = lambda: None
        """Returns the lane of this process; None if it has none."""
        self._looked_at: tuple[Path | None, str] = None, ""
        """The lane of the last check, and the path of the file in it that lists takeovers."""
        self._owners: WeakValueDictionary[tuple[str, int], RunOwnership] = WeakValueDictionary()

    def owner(
        self, run_id: str, attempt: int, look: Callable[[], str | None], ask: Callable[[], str | None]
    ) -> RunOwnership:
        """Creates the ownership of a run that this process begins, or resumes as this attempt; see `RunOwnership`."""
        owner = RunOwnership(look, ask, self.pulse.stops)
        self._owners[run_id, attempt] = owner
        return owner

    def taken_here(self, run_id: str) -> str | None:
        """A sentence about the process that has taken the run over, as noted in the lane of this process; None: no
        process has."""
        lane = self.lane()
        if lane is None:
            return None
        last_lane, path = self._looked_at
        if last_lane is not lane:
            path = str(lane / _FILE)
            self._looked_at = lane, path
        # Takes half as long as any other check, and the file exists only after a takeover.
        return taken_from(lane, run_id) if os.access(path, os.F_OK) else None

    def taken_over(self, run_id: str, attempt: int) -> None:
        """Notes that another process executes this attempt: this process loses its earlier attempts at the run."""
        for own_attempt in range(attempt):
            owner = self._owners.get((run_id, own_attempt))
            if owner is not None:
                owner.lose(taken_over_sentence(run_id, "another process"))


def taken_over_sentence(run_id: str, by: str) -> str:
    """The message about a run that another process has taken over."""
    return (
        f"run {run_id} was taken over by {by}: this process does not go on with it, and nothing more of it is executed "
        "or recorded here"
    )


def take_from(lanes: Sequence[Path], run_id: str, by: str) -> None:
    """Takes the run from the living processes that own these lanes. Raises OSError.

    Each detects it before it executes or records anything more of the run, so from then on its lane already has all
    that it has done.
    """
    for lane in lanes:
        if is_owned(lane) and not is_own(lane):
            SharedLinesFile(lane / _FILE).append([f"{run_id} {by}".encode()])


def taken_from(lane: Path, run_id: str) -> str | None:
    """A sentence about the process that has taken this run from the owner of the lane; None: no process has."""
    start = f"{run_id} ".encode()
    lines = [line for line in SharedLinesFile(lane / _FILE).read() if line.startswith(start)]
    return taken_over_sentence(run_id, lines[-1].removeprefix(start).decode("utf-8", "replace")) if lines else None
