"""Notes of programs in the folder `notes` of the journal: one JSON file per scope.

A change reads the file, and puts a new one in its place, while this process holds the lock of the scope. So processes
that write at the same time lose nothing, and a reader sees the file from before or after a change.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from playhead.errors import JournalUnusable
from playhead.journal.files import OwnFile, lock_file, make_private_folder, open_private
from playhead.kernel.forks import ForkSafeLock
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.digest import sha256
from playhead.model.json_value import Json, list_of, object_of

_FOLDER, _VERSION = "notes", 1
_LOCK_SECONDS, _TRY_AGAIN_SECONDS = 10.0, 0.002

# The kernel's lock is the process's: threads have this one besides.
_in_process = ForkSafeLock()


class NoteFile:
    """The notes of one scope, which all processes with this journal share. Methods raise JournalUnusable."""

    def __init__(self, journal_dir: Path, scope: str) -> None:
        self._scope = scope
        self._path = journal_dir / _FOLDER / f"{sha256(scope.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"

    def read(self) -> list[Json]:
        """Returns the notes as they were stored, oldest first."""
        try:
            stored = object_of(parse_json(self._path.read_bytes()))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        except ValueError as error:
            raise self._unusable("it is damaged") from error
        return [cast(Json, note) for note in list_of(stored.get("notes")) if isinstance(note, dict)]

    def change(self, change: Callable[[list[Json]], list[Json]]) -> None:
        """Replaces the notes by what the function makes of them; they are durable once this returns."""
        try:
            make_private_folder(self._path.parent)
            with _in_process:
                held = self._locked()
                try:
                    self._replace(change(self.read()))
                finally:
                    held.close()
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error

    def _locked(self) -> OwnFile:
        lock, until = self._path.with_suffix(".lock"), time.monotonic() + _LOCK_SECONDS
        while (held := lock_file(lock)) is None:
            if time.monotonic() > until:
                raise self._unusable("another process holds its lock")
            time.sleep(_TRY_AGAIN_SECONDS)
        return held

    def _replace(self, notes: list[Json]) -> None:
        beside = self._path.with_suffix(f".{os.urandom(8).hex()}")
        try:
            with os.fdopen(open_private(beside, os.O_WRONLY | os.O_EXCL), "wb") as file:
                file.write(canonical_json({"version": _VERSION, "scope": self._scope, "notes": notes}))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
        finally:
            beside.unlink(missing_ok=True)

    def _unusable(self, why: str) -> JournalUnusable:
        return JournalUnusable(f"the notes of {self._scope!r} cannot be kept in {self._path} ({why})")
