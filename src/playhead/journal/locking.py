"""File locks that the kernel releases when their process ends, however it ends, in any container.

The locks belong to the files, not to process ids: processes that share a folder see each other's locks, also from
containers with their own process ids.
"""

import os
import sys
import threading
from pathlib import Path

from playhead.journal.files import OwnFile, open_private


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
