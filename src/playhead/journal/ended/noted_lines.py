"""A file of lines in the journal's folder that all processes append to; above 1 MiB, the older half is removed."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from playhead.journal.files import open_private

# 1 MiB: 30,000 runs, more than are resumed or forked in an hour.
_MAX_BYTES = 2**20


class NotedLines:
    """One file of lines. Belongs to one thread; other processes may use the same file at the same time."""

    def __init__(self, path: Path):
        """Does not access the disk."""
        self._path = path

    def known(self) -> list[bytes]:
        """The lines, oldest first; empty if there is no file.  Raises OSError."""
        try:
            return [line for line in self._path.read_bytes().split(b"\n") if line]
        except FileNotFoundError:
            return []

    def note(self, lines: Iterable[bytes]) -> None:
        """Appends these lines to the file.  Raises OSError."""
        data = b"".join(line + b"\n" for line in lines)
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
        """Removes the older half of the file. Lines that another process appends at the same time may be lost."""
        tail = self._path.read_bytes()[-_MAX_BYTES // 2 :].partition(b"\n")[2]
        new = self._path.with_suffix(f".{os.getpid()}.new")
        with suppress(FileNotFoundError):
            new.unlink()
        fd = open_private(new, os.O_WRONLY | os.O_EXCL)
        with os.fdopen(fd, "wb") as file:
            file.write(tail)
        new.replace(self._path)
