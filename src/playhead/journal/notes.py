"""Notes of programs in the folder `notes` of the journal: a JSON file per scope, of what no collector has (yet).

A change reads the file, and puts a new one in its place, while this process holds the lock of the scope. So processes
that write at the same time lose nothing, and a reader sees the file from before or after a change.
"""

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from playhead.errors import JournalUnusable
from playhead.journal.files import lock_file, make_private_folder, open_private
from playhead.kernel.forks import ForkSafeLock
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.digest import sha256
from playhead.model.json_value import Json, list_of, object_of, text_at

_FOLDER, _VERSION = "notes", 2
_LOCK_SECONDS, _TRY_AGAIN_SECONDS = 10.0, 0.002

# The kernel's lock is the process's: threads have this one besides.
_in_process = ForkSafeLock()


@dataclass(frozen=True, slots=True)
class PendingNotes:
    """Notes in the folder, oldest first. `base`: those that the collector had when the first change went here, as far
    as its writer knew."""

    notes: list[Json] = field(default_factory=list[Json])
    base: list[Json] = field(default_factory=list[Json])


class NoteFile:
    """The notes of one scope, which all processes with this journal share. Methods raise JournalUnusable."""

    def __init__(self, journal_dir: Path, scope: str) -> None:
        self.scope = scope
        self._path = journal_dir / _FOLDER / f"{sha256(scope.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"

    @staticmethod
    def all(journal_dir: Path) -> "Iterator[NoteFile]":
        """Yields the files that are there. Those that cannot be read are left out."""
        for path in sorted((journal_dir / _FOLDER).glob("*.json")):
            try:
                scope = text_at(object_of(parse_json(path.read_bytes())), "scope")
            except (OSError, ValueError):
                continue
            yield NoteFile(journal_dir, scope)

    def exists(self) -> bool:
        """Whether there are notes here."""
        return self._path.exists()

    def read(self) -> PendingNotes | None:
        """Returns the notes; None: there are none here."""
        try:
            stored = object_of(parse_json(self._path.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        except ValueError as error:
            raise self._unusable("it is damaged") from error
        return PendingNotes(_notes(stored.get("notes")), _notes(stored.get("base")))

    @contextmanager
    def locked(self) -> Generator[None]:
        """Holds the lock of the scope. Raises JournalUnusable if another process holds it for 10 seconds."""
        lock, until = self._path.with_suffix(".lock"), time.monotonic() + _LOCK_SECONDS
        with _in_process:
            try:
                make_private_folder(self._path.parent)
                while (held := lock_file(lock)) is None:
                    if time.monotonic() > until:
                        raise self._unusable("another process holds its lock")
                    time.sleep(_TRY_AGAIN_SECONDS)
            except OSError as error:
                raise self._unusable(error.strerror or str(error)) from error
            try:
                yield
            finally:
                held.close()

    def replace_locked(self, pending: PendingNotes) -> None:
        """Replaces the notes, durably once this returns. For a caller that holds the lock."""
        beside = self._path.with_suffix(f".{os.urandom(8).hex()}")
        stored = {"version": _VERSION, "scope": self.scope, "notes": pending.notes, "base": pending.base}
        try:
            try:
                with os.fdopen(open_private(beside, os.O_WRONLY | os.O_EXCL), "wb") as file:
                    file.write(canonical_json(stored))
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(self._path)
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error

    def remove_locked(self) -> None:
        """Removes the file, when the collector has the notes. For a caller that holds the lock."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error

    def _unusable(self, why: str) -> JournalUnusable:
        return JournalUnusable(f"the notes of {self.scope!r} cannot be kept in {self._path} ({why})")


def _notes(stored: object) -> list[Json]:
    return [cast(Json, note) for note in list_of(stored) if isinstance(note, dict)]
