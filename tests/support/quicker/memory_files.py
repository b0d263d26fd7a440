"""Temporary files in memory: nothing of them is to outlive the tests, which otherwise wait for the disk."""

import os
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")
# A whole run of the tests needs a tenth of that; containers often have no more than 64 MB.
_ENOUGH_BYTES = 4 * 2**30
_ON_DISK = "TMPDIR_ON_DISK"


def keep_files_in_memory() -> None:
    """From now on, in this process and those that it starts, unless TMPDIR is set or there is no such place."""
    if "TMPDIR" in os.environ or not _MEMORY.is_dir() or not os.access(_MEMORY, os.W_OK):
        return
    found = os.statvfs(_MEMORY)
    if found.f_bavail * found.f_frsize >= _ENOUGH_BYTES and not found.f_flag & os.ST_NOEXEC:
        os.environ[_ON_DISK] = tempfile.gettempdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)


def temporary_on_disk() -> str:
    """The folder for temporary files that are worth keeping for the next run."""
    return os.environ.get(_ON_DISK) or tempfile.gettempdir()
