"""A folder for everything temporary of a program that starts a collector, and what the program left behind."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil


@contextmanager
def temporary_folder() -> Generator[Path]:
    """The folder, gone afterwards."""
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="playhead-tests-"))
    folder.chmod(0o711)  # as /tmp itself: as root, Postgres runs as an account that has to pass
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def left_over(folder: Path) -> list[str]:
    """Processes that name the folder, and files in it."""
    processes = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    return [*(line for line in processes if str(folder) in line), *map(str, folder.iterdir())]
