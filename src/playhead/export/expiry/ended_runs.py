"""Stores the ids of ended runs in a file of the journal's folder, since the lane with a run's end may be deleted.

A run may end in another lane than the one in which it began: it was resumed, or its process forked. A lane can be
deleted only when its runs are known to have ended, and the lane that has the end may be deleted first.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from playhead.journal.files import open_private

_FILE = "ended-runs"
# 1 MiB: 30,000 runs, more than are resumed or forked in an hour.
_MAX_BYTES = 2**20


class EndedRuns:
    """The ended runs of one journal. Belongs to one thread; other processes may use the same file at the same time."""

    def __init__(self, journal_dir: Path):
        """`journal_dir`: the folder of the journal. Does not access the disk."""
        self._path = journal_dir / _FILE

    def known(self) -> set[bytes]:
        """The stored ids of ended runs; empty if there is no file.  Raises OSError."""
        try:
            return set(self._path.read_bytes().split(b"\n")) - {b""}
        except FileNotFoundError:
            return set()

    def note(self, runs: Iterable[bytes]) -> None:
        """Appends the ids of ended runs to the file.  Raises OSError."""
        data = b"".join(run + b"\n" for run in sorted(runs))
        if not data:
            return
        fd = open_private(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, data)
            size = os.fstat(fd).st_size
        finally:
            os.close(fd)
        if size > _MAX_BYTES:
            self._cut()

    def _cut(self) -> None:
        """Removes the older half of the file.

        Ids that another process appends at the same time may be lost. They are found again in their lane; if that is
        gone, the other lanes of these runs are kept until the journal needs the space.
        """
        kept = self._path.read_bytes()[-_MAX_BYTES // 2 :].partition(b"\n")[2]
        new = self._path.with_suffix(f".{os.getpid()}.new")
        with suppress(FileNotFoundError):
            new.unlink()
        fd = open_private(new, os.O_WRONLY | os.O_EXCL)
        with os.fdopen(fd, "wb") as file:
            file.write(kept)
        new.replace(self._path)
