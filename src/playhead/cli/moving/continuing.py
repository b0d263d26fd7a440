"""[import]: the position of an import, so that the same command continues after an interruption.

A position is a number of items, in the order in which the files are read. It is valid only for the same, unchanged
files, and for the same collector in the same epoch.
"""

import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from playhead.model.canonical import canonical_json, parse_json

_FOLDER = "imports"
_EVERY_SECONDS = 1.0


class ImportPosition:
    """The position of one import, in a file in the journal's folder."""

    def __init__(self, journal_dir: Path, endpoint: str, paths: Sequence[Path], epoch: str, *, restart: bool) -> None:
        facts = [endpoint, [_state_of(path) for path in paths]]
        self._path = journal_dir / _FOLDER / f"{sha256(canonical_json(facts)).hexdigest()[:32]}.json"
        self._epoch = epoch
        self.continued_after = 0 if restart else self._read()
        self.skip = self._done = self.continued_after
        self._written = time.monotonic()

    def advance(self, items: int) -> None:
        """Counts items that the collector has acknowledged."""
        self._done += items
        if time.monotonic() - self._written >= _EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        """Stores the position. If that fails, nothing happens: an interrupted import then starts again from the
        beginning."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._path.with_suffix(".partial")
            partial.write_bytes(canonical_json({"epoch": self._epoch, "done": self._done}))
            partial.replace(self._path)
        except OSError:
            return
        self._written = time.monotonic()

    def finished(self) -> None:
        """Deletes the position after a complete import."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            return

    def _read(self) -> int:
        try:
            value = parse_json(self._path.read_bytes())
            return int(value["done"]) if value["epoch"] == self._epoch else 0
        except (OSError, ValueError, TypeError, KeyError):
            return 0


def _state_of(path: Path) -> list[object]:
    """Returns values that change when the file changes, or one of the folder's files."""
    files = sorted(entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else [path]
    whole = sha256()
    for file in files:
        about = file.stat()
        whole.update(canonical_json([str(file), about.st_size, about.st_mtime_ns]))
    return [str(path.resolve()), whole.hexdigest()]
