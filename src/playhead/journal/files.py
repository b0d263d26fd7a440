"""Private files and folders of the journal, and locks of files that the kernel releases when their process ends.

A program that becomes a daemon closes all descriptors, also ours, and the next file that it opens gets one of their
numbers.  So before a descriptor is written to or closed, it is checked to be the file that was opened (`OwnFile`).

The locks belong to the files, not to process ids: processes that share a folder see each other's locks, also from
containers with their own process ids. The kernel releases a lock however its process ends.
"""

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

# --- files and folders ------------------------------------------------------------------------------------------------


_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


class OwnFile:
    """An open file, which detects when its descriptor was closed or reused for another file."""

    __slots__ = ("device", "fd", "inode")

    def __init__(self, fd: int):
        """Takes over an open descriptor.  Raises OSError."""
        state = os.fstat(fd)
        self.fd = fd
        self.device, self.inode = state.st_dev, state.st_ino

    def is_same(self, state: os.stat_result) -> bool:
        """Whether `state` belongs to the file that was opened."""
        return state.st_ino == self.inode and state.st_dev == self.device

    def is_open(self) -> bool:
        """Whether the descriptor is still open for the same file."""
        try:
            return self.fd >= 0 and self.is_same(os.fstat(self.fd))
        except OSError:
            return False

    def is_at(self, path: Path) -> bool:
        """Whether the descriptor is still open for the same file, and that file still has this path."""
        try:
            return self.is_open() and self.is_same(path.stat())
        except OSError:
            return False

    def close(self) -> None:
        """Closes the descriptor, unless its number is used for another file by now. A second call does nothing."""
        if self.is_open():
            os.close(self.fd)
        self.fd = -1


def open_private(path: Path, flags: int) -> int:
    """Opens the file, readable by the user only whatever the umask is, and returns a descriptor. Raises OSError."""
    fd = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    if hasattr(os, "fchmod"):
        with suppress(OSError):  # another user's file, or a file system without modes: it cannot be more private
            if os.fstat(fd).st_mode & 0o777 != _FILE_MODE:
                os.fchmod(fd, _FILE_MODE)
    return fd


def make_private_folder(path: Path) -> None:
    """Creates the folder and missing parents, accessible to the user only whatever the umask is.

    Existing folders are not changed. Raises OSError.
    """
    missing = [path]
    while not missing[-1].parent.is_dir() and missing[-1].parent != missing[-1]:
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=_FOLDER_MODE)
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            folder.chmod(_FOLDER_MODE)


# --- locks ------------------------------------------------------------------------------------------------------------


def lock_file(path: Path) -> OwnFile | None:
    """Locks the file (created if missing) until the result is closed. None when another process holds the lock.

    Raises OSError."""
    return _locked(open_private(path, os.O_RDWR), shared=False)


def share_lock(path: Path) -> OwnFile | None:
    """Takes a shared lock of an existing file.

    None when a process holds the lock alone (see `lock_file`), or when the file does not exist. Raises OSError.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    held = _locked(fd, shared=True)
    if held is not None and not held.is_at(path):  # deleted between opening and locking it
        held.close()
        return None
    return held


def _locked(fd: int, *, shared: bool) -> OwnFile | None:
    try:
        if _try_lock(fd, shared):
            return OwnFile(fd)
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


if sys.platform == "win32":
    import msvcrt

    def _try_lock(fd: int, shared: bool) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # Windows has no shared lock here: a shared one is exclusive, too
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(fd: int, shared: bool) -> bool:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def is_held(lock: "threading.Lock | threading.RLock") -> bool:
    """Whether another thread holds this lock of threads at this moment. Never waits."""
    if not lock.acquire(blocking=False):
        return True
    lock.release()
    return False
