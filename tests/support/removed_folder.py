"""Removes a folder in which others still work."""

import shutil
import time
from contextlib import suppress
from pathlib import Path

_PATIENCE_SECONDS = 60.0


def remove_folder(folder: Path) -> None:
    """Returns when the folder is gone. The threads of a recorder may make and delete files there meanwhile."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while folder.exists():
        assert time.monotonic() < until, f"{folder} comes back again and again"
        with suppress(OSError):
            shutil.rmtree(folder)
