"""Stores the ids of ended runs in a file of the journal's folder, since the lane with a run's end may be deleted.

A run may end in another lane than the one in which it began: it was resumed, or its process forked. A lane can be
deleted only when its runs are known to have ended, and the lane that has the end may be deleted first.
"""

from collections.abc import Iterable
from pathlib import Path

from playhead.journal.ended.noted_lines import NotedLines

_FILE = "ended-runs"


class EndedRuns:
    """The ended runs of one journal. Belongs to one thread; other processes may use the same file at the same time.

    An id that is lost is found again in its lane; if that is gone, the other lanes of the run are kept until the
    journal needs the space.
    """

    def __init__(self, journal_dir: Path):
        """`journal_dir`: the folder of the journal. Does not access the disk."""
        self._notes = NotedLines(journal_dir / _FILE)

    def known(self) -> set[bytes]:
        """The stored ids of ended runs; empty if there is no file.  Raises OSError."""
        return set(self._notes.known())

    def note(self, runs: Iterable[bytes]) -> None:
        """Appends the ids of ended runs to the file.  Raises OSError."""
        self._notes.note(sorted(runs))
