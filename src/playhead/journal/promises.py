"""Promises in the folder `promises` of the journal: for programs without a collector, and until the collector has them.

A promise is one file, its answer another. Both are created whole by a hard link, so the first answer wins. A promise
that was given to the collector gets an answer file that says so: it can have one answer only.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from playhead.errors import JournalUnusable
from playhead.journal.files import make_private_folder, open_private
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.promises import INTERRUPT
from playhead.wire.operations.promises import Promise, PromiseAnswer

_FOLDER, _OPEN, _ANSWER = "promises", ".json", ".answer"
_AT_COLLECTOR = {"at": "collector"}
_ID_DIGITS = frozenset("0123456789abcdef")


class PromiseFiles:
    """The promises of all processes that share a journal's folder. Methods raise JournalUnusable."""

    def __init__(self, journal_dir: Path, keep_seconds: float):
        """`keep_seconds`: how long answered promises are kept."""
        self._folder = journal_dir / _FOLDER
        self._keep_seconds = keep_seconds

    def open(self, promise: Promise) -> Promise:
        """Stores the promise, durably once this returns. If it exists, returns the stored one with its answer."""
        name = self._name(promise["id"], promise["run"] if promise["kind"] == INTERRUPT else None)
        try:
            make_private_folder(self._folder)
            self._remove_old()
            self._link(name + _OPEN, {**promise, "answer": None})
        except OSError as error:
            raise self._unusable(error) from error
        return self.read(promise["id"]) or promise

    def read(self, promise_id: str) -> Promise | None:
        """Returns the promise, with its answer if that was given here; None: there is no such promise."""
        promise = self._read(promise_id + _OPEN)
        answer = self._read(promise_id + _ANSWER)
        if promise is None:
            return None
        has_outcome = answer is not None and "outcome" in answer
        return cast(Promise, {**promise, "answer": answer if has_outcome else None})

    def answer(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers the promise if it has no answer. Returns it with its first answer; None: the folder does not have
        it, or only the collector can answer it."""
        try:
            if self._read(promise_id + _OPEN) is None:
                return None
            self._link(promise_id + _ANSWER, cast("dict[str, Any]", answer))
        except OSError as error:
            raise self._unusable(error) from error
        promise = self.read(promise_id)
        return promise if promise is not None and promise["answer"] is not None else None

    def give_to_collector(self, promise_id: str) -> bool:
        """Marks the promise as the collector's. Returns False if it was answered here already."""
        try:
            return self._link(promise_id + _ANSWER, _AT_COLLECTOR) or self.is_at_collector(promise_id)
        except OSError as error:
            raise self._unusable(error) from error

    def is_at_collector(self, promise_id: str) -> bool:
        """Whether the promise was given to the collector, which alone can answer it."""
        return self._read(promise_id + _ANSWER) == _AT_COLLECTOR

    def all(self) -> list[Promise]:
        """Returns all promises that were not given to the collector, oldest first."""
        promises = [self.read(promise_id) for promise_id in self.ids() if not self.is_at_collector(promise_id)]
        return sorted((promise for promise in promises if promise is not None), key=lambda item: item["created"])

    def interrupts(self, runs: Sequence[str]) -> list[Promise]:
        """Returns the open requests to stop one of these runs. Reads only file names if there are none."""
        wanted = set(runs)
        ids = [name.partition("-")[2] for name in self._names() if name.partition("-")[0] in wanted]
        promises = [self.read(name.removesuffix(_OPEN)) for name in ids if name.endswith(_OPEN)]
        return [promise for promise in promises if promise is not None and promise["answer"] is None]

    def ids(self) -> Iterator[str]:
        """Yields the ids of all promises, also of those that were given to the collector."""
        for name in self._names():
            if name.endswith(_OPEN):
                yield name.removesuffix(_OPEN).rpartition("-")[2]

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._folder)  # noqa: PTH208 - pathlib would make an object of each name
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._unusable(error) from error

    @staticmethod
    def _name(promise_id: str, run: str | None) -> str:
        return promise_id if run is None else f"{run}-{promise_id}"

    def _path(self, name: str) -> Path:
        promise_id = name.partition(".")[0]
        if not promise_id or not _ID_DIGITS.issuperset(promise_id):
            raise JournalUnusable(f"{promise_id[:40]!r} is no promise's id: those have 32 hex digits")
        path = self._folder / name
        if not path.exists() and name.endswith(_OPEN):  # a request to stop has its run before its id
            return next(iter(self._folder.glob(f"*-{name}")), path)
        return path

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return cast("dict[str, Any]", parse_json(self._path(name).read_bytes()))
        except (FileNotFoundError, ValueError):
            return None
        except OSError as error:
            raise self._unusable(error) from error

    def _link(self, name: str, value: dict[str, Any]) -> bool:
        """Writes the file, durably and whole. Returns False if a file of this name exists."""
        temporary = self._folder / f".{os.urandom(8).hex()}"
        try:
            with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_EXCL), "wb") as file:
                file.write(canonical_json(value))  # writes all, or raises OSError: a full disk may take a part
                file.flush()
                os.fsync(file.fileno())
            os.link(temporary, self._folder / name)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        return True

    def _remove_old(self) -> None:
        """Removes promises that were answered long ago."""
        before = time.time() - self._keep_seconds
        for path in self._folder.glob(f"*{_ANSWER}"):
            with suppress(OSError):
                if path.stat().st_mtime < before:
                    self._path(path.stem + _OPEN).unlink(missing_ok=True)
                    path.unlink()

    def _unusable(self, error: OSError) -> JournalUnusable:
        return JournalUnusable(
            f"promises cannot be kept in {self._folder} ({error.strerror or error}): see that it can be written to"
        )
