"""Segment files, for their only writer: an append is one `write` at the end of the file.

The kernel puts each `write` after all others (O_APPEND), so an append from a signal handler or a finalizer that
interrupts another append needs neither lock nor queue: it is in the file when it returns.

Before each append, `fstat` shows whether the descriptor still belongs to the file, so that nothing is ever written into
a file of the program; and whether the file was deleted or cut, so that losses are known.
"""

import errno
import os
from pathlib import Path

from playhead.journal.files import OwnFile, open_private


class SegmentGone(OSError):
    """The file was deleted, or its descriptor was closed: appended data would be lost."""

    def __init__(self, why: str):
        super().__init__(errno.ESTALE, why)


class SegmentCut(OSError):
    """Somebody has cut the file: its last `lost_bytes` bytes are gone.  Appending is still possible."""

    def __init__(self, lost_bytes: int):
        super().__init__(errno.EIO, f"its last {lost_bytes} bytes were cut off")
        self.lost_bytes = lost_bytes


class Segment:
    """One file, open for appending."""

    def __init__(self, path: Path):
        """Creates the file, which must not exist yet. Raises OSError."""
        self.path = path
        self._file = OwnFile(open_private(path, os.O_RDWR | os.O_APPEND | os.O_EXCL))
        self._size = 0

    def append(self, data: bytes) -> int:
        """Writes all of the data and returns the new size of the file in bytes.

        Raises OSError, and then the file is unchanged. SegmentGone: another try would fail, too. SegmentCut: raised
        once per cut; another try appends.
        """
        self.check_open()
        before = self._size
        written = os.write(self._file.fd, data)
        if written != len(data):
            return self._write_rest(data, written, before)
        self._size += written
        return self._size

    def check_open(self) -> None:
        """Raises SegmentGone if the file was deleted, or the descriptor no longer belongs to it; and SegmentCut
        if it was cut since the last look."""
        file = self._file
        try:
            state = os.fstat(file.fd)
        except OSError:
            raise SegmentGone("its descriptor was closed") from None
        if state.st_ino != file.inode or state.st_dev != file.device:
            raise SegmentGone("its descriptor was closed, and stands for another file")
        if state.st_nlink == 0:
            raise SegmentGone("it was deleted")
        before, self._size = self._size, state.st_size
        if state.st_size < before:
            raise SegmentCut(before - state.st_size)

    def sync(self) -> None:
        """Waits until everything appended is on the disk (fsync). Raises OSError."""
        os.fsync(self._file.fd)

    def size(self) -> int:
        """The size of the file in bytes. Raises OSError."""
        return os.fstat(self._file.fd).st_size

    def rename(self, path: Path) -> None:
        """Renames the file. Raises OSError."""
        self.path.rename(path)
        self.path = path

    def truncate(self) -> None:
        """Truncates the file to nothing. Raises OSError."""
        os.ftruncate(self._file.fd, 0)
        self._size = 0

    def is_there(self) -> bool:
        """Whether appends still go to the file of this name."""
        return self._file.is_at(self.path)

    def read_from(self, start: int) -> bytes:
        """The bytes from offset `start` on, also of a deleted file; empty when the descriptor was closed."""
        if not self._file.is_open():
            return b""
        pieces: list[bytes] = []
        while piece := os.pread(self._file.fd, 2**20, start):
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Closes the file.  A second call does nothing."""
        self._file.close()

    def _write_rest(self, data: bytes, written: int, before: int) -> int:
        """Writes the rest after a short write: the disk is full, or the data is larger than one write takes."""
        try:
            while written < len(data):
                written += os.write(self._file.fd, memoryview(data)[written:])
        except BaseException:
            if self.size() == before + written:
                os.ftruncate(self._file.fd, before)
            raise
        self._size = self.size()
        if self._size != before + written:  # a signal handler's append is in the middle: write again
            return self.append(data)
        return self._size
