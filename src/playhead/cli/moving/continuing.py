"""[import]: how far an import has come, so that the same command goes on after an interruption.

A position is a number of items in the order in which the files are read.  It counts only for the same files, unchanged,
and for the same collector in the same epoch.
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
        """So many items more are acknowledged."""
        self._done += items
        if time.monotonic() - self._written >= _EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        """Keeps the position.  Where that cannot be done, an interrupted import begins at the start."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._path.with_suffix(".partial")
            partial.write_bytes(canonical_json({"epoch": self._epoch, "done": self._done}))
            partial.replace(self._path)
        except OSError:
            return
        self._written = time.monotonic()

    def finished(self) -> None:
        """All of it is imported: nothing is left to go on with."""
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
    """What changes when a file, or a folder's list of files, does."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    whole = sha256()
    for file in files:
        about = file.stat()
        whole.update(canonical_json([str(file), about.st_size, about.st_mtime_ns]))
    return [str(path.resolve()), whole.hexdigest()]
