"""Segment files, as their one writer sees them.

Where the file system keeps its word, the next stretch of the file is allocated, mapped into memory and touched in
advance: an append is then a copy, and no call into the kernel, which between two calls of a program costs several times
what it does in a loop.  Elsewhere, and for what does not fit, an append is one `write`.  Both survive the end of the
process.  A file has zeros behind what was written until it is closed.

Storing into a mapped file ends the process when there is no block behind it.  Blocks are therefore allocated first,
only on file systems that do not go back on that, and touched by a call that reports an error instead.
"""

import errno
import mmap
import os
import sys
from pathlib import Path

# A crash leaves this much allocated at most, as does every living process; a new stretch costs tens of microseconds.
WINDOW_BYTES = 128 * 1024
_TOUCH_FOR_WRITING = 23  # MADV_POPULATE_WRITE, Linux 5.14; where it is unknown, pages are touched one by one
# Not those that copy on write, nor `overlay`, which does not say what is beneath it.
_KEEP_THEIR_WORD = frozenset({"ext4", "xfs", "tmpfs"})


class Segment:
    """One file, from its beginning to `offset`."""

    def __init__(self, path: Path, *, mapped: bool):
        """Makes the file.  Raises OSError."""
        self.offset = 0
        self._mapped = mapped
        self._window: mmap.mmap | None = None
        self._begin = self._end = 0
        # Payloads can be private: for the user alone.
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def append(self, data: bytes) -> None:
        """There, whole, when this returns.  Raises OSError, and then nothing of it is."""
        at, window = self.offset, self._window
        end = at + len(data)
        if window is not None and end <= self._end:
            where = slice(at - self._begin, end - self._begin)
            try:
                window[where] = data
                self.offset = end
            except BaseException:  # a signal's: what nobody was told is there must not stand before the next
                self.offset, window[where] = at, bytes(len(data))
                raise
        else:
            self._write(data)
            if self._mapped:
                self._map()

    def close(self, *, cut: bool = True) -> None:
        """Gives back what was allocated in advance; with `cut=False` the file is another process's, and left alone."""
        self._unmap()
        if self.fd >= 0:
            try:
                if cut:
                    os.ftruncate(self.fd, self.offset)
            finally:
                os.close(self.fd)
                self.fd = -1

    def _write(self, data: bytes) -> None:
        self._unmap()
        written = 0
        try:
            written = os.pwrite(self.fd, data, self.offset)
            while written < len(data):  # the disk is full, or the data are beyond what one write takes
                written += os.pwrite(self.fd, memoryview(data)[written:], self.offset + written)
        finally:
            if written == len(data):
                self.offset += written
            elif self.fd >= 0:  # a torn frame would hide all that comes after it
                os.ftruncate(self.fd, self.offset)

    def _map(self) -> None:
        begin = self.offset - self.offset % mmap.ALLOCATIONGRANULARITY
        window: mmap.mmap | None = None
        try:
            os.posix_fallocate(self.fd, begin, WINDOW_BYTES)
            window = mmap.mmap(self.fd, WINDOW_BYTES, offset=begin)
            _touch(window)
        except (OSError, ValueError):
            self._mapped = False  # little room, or a limit: appends are written from here on
            if window is not None:
                window.close()
            os.ftruncate(self.fd, self.offset)
            return
        self._window, self._begin, self._end = window, begin, begin + WINDOW_BYTES

    def _unmap(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            window.close()


def _touch(window: mmap.mmap) -> None:
    try:
        window.madvise(_TOUCH_FOR_WRITING)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def can_be_mapped(folder: Path) -> bool:
    """Whether the folder is on a file system that keeps blocks once it has allocated them."""
    if sys.platform != "linux":
        return False
    try:
        device = folder.stat().st_dev
        mine = f"{os.major(device)}:{os.minor(device)}"
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:  # noqa: PTH123 - is no path of ours
            # Id, parent, device, root, mount point, options, any number of fields, a dash, type (proc(5)).
            for fields in map(str.split, mounts):
                if fields[2] == mine:
                    return fields[fields.index("-") + 1] in _KEEP_THEIR_WORD
    except (OSError, ValueError, IndexError):
        pass
    return False


def written_bytes(path: Path) -> int:
    """How much of the file was written: its size without zeros at its end, which no frame begins with.

    0 when it is gone.  A frame that ends with zeros itself may be counted as a little shorter than it is.
    """
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                start = max(0, end - WINDOW_BYTES // 4)
                file.seek(start)
                block = file.read(end - start).rstrip(b"\0")
                if block:
                    return start + len(block)
                end = start
    except OSError:
        pass
    return 0
