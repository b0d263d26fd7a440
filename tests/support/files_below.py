"""The files of a folder in which a program is at work."""

from collections.abc import Iterator
from pathlib import Path


def files_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Each file below the folder, with its bytes. One that is deleted meanwhile is left out: Postgres does that while
    it runs."""
    for path in sorted(folder.rglob("*")):
        try:
            if path.is_file():
                yield path, path.read_bytes()
        except FileNotFoundError:
            continue
