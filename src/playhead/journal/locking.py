"""File locks that die with their process, however it dies, in whatever container it runs.

The kernel that keeps the files keeps the locks: processes that share a folder see each other's, also where each has
process ids of its own.
"""

import os
import sys
from pathlib import Path

from playhead.journal.files import OwnFile, open_private


def lock_file(path: Path) -> OwnFile | None:
    """Holds the lock until it is closed, and makes the file if need be; None when another has it.  Raises OSError."""
    return _locked(open_private(path, os.O_RDWR), shared=False)


def share_lock(path: Path) -> OwnFile | None:
    """Holds the lock together with others that share it, of a file that is there already.

    None when somebody has it alone (see `lock_file`), or when the file is gone.  Raises OSError.
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
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # there is no shared lock: who shares it is alone with it, too
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
