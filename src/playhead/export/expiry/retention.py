"""Decides how long records of runs are kept after they were delivered: as long as a program has set for their session
or run (`run(retention=...)`), otherwise as long as the settings say.

The time is recorded with a run's beginning. It is also noted in a file of the journal's folder: other runs of the
session have lanes of their own, and the lane that has the time may be deleted first.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from playhead.journal.ended_runs import NotedLines, RunsSeen
from playhead.settings.sdk import MAX_SECONDS, MIN_SECONDS

_FILE = "retention"


class Retention:
    """How long the runs of one journal are kept. Belongs to one thread; other processes may use the file, too."""

    def __init__(self, journal_dir: Path, default_seconds: float):
        """`default_seconds`: for runs for which no time was set. Does not access the disk."""
        self._notes = NotedLines(journal_dir / _FILE)
        self._default = default_seconds
        self._said: Mapping[bytes, float] = {}

    @property
    def least_seconds(self) -> float:
        """How long everything is kept; older records have to be read to know whether they are kept longer."""
        return min(self._default, MIN_SECONDS)

    def learn(self, seen: Iterable[RunsSeen]) -> None:
        """Reads the times from these records and the file, and adds to the file those that it lacks. Raises OSError."""
        new = self.look(seen)
        self._notes.note(b"%s %d" % (key, seconds) for key, seconds in sorted(new.items()))

    def look(self, seen: Iterable[RunsSeen]) -> Mapping[bytes, float]:
        """Reads the times from these records and the file. Returns those that the file lacks. Raises OSError."""
        noted: dict[bytes, float] = {}
        for line in self._notes.known():
            key, _, seconds = line.partition(b" ")
            if seconds.isdigit():
                noted[key] = float(seconds)
        new: dict[bytes, float] = {}
        for runs_seen in seen:
            for key, seconds in runs_seen.retention.items():
                if min(seconds, MAX_SECONDS) > max(noted.get(key, 0.0), new.get(key, 0.0)):
                    new[key] = min(seconds, MAX_SECONDS)
        self._said = noted | new
        return new

    def seconds(self, seen: RunsSeen) -> float:
        """How long to keep records of these runs: the longest time of one of them."""
        return max((self._of_run(run, seen.sessions.get(run)) for run in seen.runs), default=self._default)

    def _of_run(self, run: bytes, session: bytes | None) -> float:
        periods = [self._said[key] for key in (run, session) if key is not None and key in self._said]
        return max(periods, default=self._default)
