"""Temporary files in memory: nothing of them is to outlive the tests, which otherwise wait for the disk."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")
# A whole run of the tests needs less than a quarter of that; containers often have no more than 64 MB.
_ENOUGH_BYTES = 4 * 2**30
_ON_DISK = "TMPDIR_ON_DISK"


def keep_files_in_memory() -> None:
    """From now on, in this process and those that it starts, unless TMPDIR is set or there is no such place.

    The folder goes when this process ends, with all that programs have left in it, unless `keep_for_a_look` is called.
    """
    if "TMPDIR" in os.environ or not _MEMORY.is_dir() or not os.access(_MEMORY, os.W_OK):
        return
    found = os.statvfs(_MEMORY)
    if found.f_bavail * found.f_frsize < _ENOUGH_BYTES or found.f_flag & os.ST_NOEXEC:
        return
    os.environ[_ON_DISK] = tempfile.gettempdir()
    folder = tempfile.mkdtemp(prefix="pt-", dir=_MEMORY)  # short, as sockets have short addresses
    Path(folder).chmod(0o711)  # as root, Postgres runs as an account that has to pass
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    atexit.register(_remove, folder, os.getpid())


def keep_for_a_look() -> None:
    """The files of failed tests stay."""
    atexit.unregister(_remove)


def temporary_on_disk() -> str:
    """The folder for temporary files that are worth keeping for the next run."""
    return os.environ.get(_ON_DISK) or tempfile.gettempdir()


def _remove(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # and not one that was forked from it
        shutil.rmtree(folder, ignore_errors=True)
