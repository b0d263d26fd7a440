"""The journal for reading: its records, their projections, the store over both, and direct answers.

`DirectAnswers` answers frequent requests of operations that are not declared yet without the HTTP application, which
takes a second to load. Modules that only one kind of request needs are imported in the function that answers it.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from playhead.local.answering import JournalOperations, run_without_loop
from playhead.local.journal_records import JournalRecords, damage_of
from playhead.local.projections import JournalProjections
from playhead_collector.errors import Refused
from playhead_collector.handlers.journal import LocalStore
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.events import list_checkpoints
from playhead_collector.read.paging import read_seq
from playhead_collector.read.record import RunRecord, open_record
from playhead_collector.store.records.ports import RunProjection
from playhead_collector.store.records.store import RecordStore

T = TypeVar("T")

# --- answers without the HTTP application -----------------------------------------------------------------------------


_PROJECT_ID = 1
_RUN_PATH = re.compile(r"runs/([0-9a-f]{1,32}|last)(?:/(context|messages|checkpoints))?")
_MOST_ITEMS, _MOST_PREVIEW = 1_000, 10_000
_MOST_CHARACTERS = 300
_Answer = Callable[[RunRecord, "_Parameters"], Coroutine[Any, Any, Any]]


class _NotDirect(Exception):
    """The HTTP application has to answer: a parameter is invalid, or only the application reads it."""


class _Parameters:
    """The parameters of a request. Methods raise _NotDirect for a value that the application would refuse; `end` raises
    it if a parameter was not read."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._left = {name: value for name, value in params.items() if value is not None}

    def number(self, name: str, default: Any, least: int, most: int) -> Any:
        value = self._left.pop(name, default)
        if value is not default and (type(value) is not int or not least <= value <= most):
            raise _NotDirect
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._left.pop(name, default)
        if not isinstance(value, bool):
            raise _NotDirect
        return value

    def text(self, name: str, *choices: str) -> str | None:
        value = self._left.pop(name, None)
        if value is not None and (value not in choices if choices else not _is_short(value)):
            raise _NotDirect
        return None if value is None else str(value)

    def end(self) -> None:
        if self._left:
            raise _NotDirect


def _is_short(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= _MOST_CHARACTERS and "\0" not in value)


class DirectAnswers:
    """Answers requests of the query API from a store whose coroutines never wait."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    def answer(self, path: str, params: Mapping[str, Any]) -> bytes | None:
        """Returns the answer as JSON; None if the HTTP application has to answer. That also makes all error
        responses."""
        parameters = _Parameters(params)
        try:
            match = _RUN_PATH.fullmatch(path)
            return (
                None
                if match is None
                else json_bytes(_run_answer(self._of_run(match[1], match[2], parameters), match[2]))
            )
        except (_NotDirect, Refused):
            return None

    async def project_now(self, project_id: int, run: str) -> None:
        """Does nothing: the store projects a run when it is read."""

    async def catch_up(self) -> None:
        """Does nothing, for the same reason."""

    async def _of_run(self, run: str, resource: str | None, parameters: _Parameters) -> Any:
        record = await open_record(self._store, self, _PROJECT_ID, run)
        return await _ANSWERS[resource](record, parameters)


async def _answer_detail(record: RunRecord, parameters: _Parameters) -> Any:
    from playhead_collector.read.prices import shipped  # noqa: PLC0415
    from playhead_collector.read.runs import run_detail  # noqa: PLC0415

    parameters.end()
    return await run_detail(record, shipped())


async def _answer_context(record: RunRecord, parameters: _Parameters) -> Any:
    from playhead_collector.read.context import answer_context  # noqa: PLC0415

    at, form = parameters.text("at"), parameters.text("form", "parts", "openai") or "parts"
    exact = parameters.flag("exact", default=False)
    parameters.end()
    return await answer_context(record, at, form, exact)


async def _answer_messages(record: RunRecord, parameters: _Parameters) -> Any:
    from playhead_collector.read.messages import list_history  # noqa: PLC0415

    at, hydrate = parameters.text("at"), parameters.flag("hydrate", default=True)
    limit, cursor = parameters.number("limit", 100, 1, _MOST_ITEMS), parameters.text("cursor")
    parameters.end()
    return await list_history(record, limit, read_seq(cursor), hydrate, at)


async def _answer_checkpoints(record: RunRecord, parameters: _Parameters) -> Any:
    preview = parameters.number("preview", 0, 0, _MOST_PREVIEW)
    limit, cursor = parameters.number("limit", 100, 1, _MOST_ITEMS), parameters.text("cursor")
    parameters.end()
    return await list_checkpoints(record, limit, read_seq(cursor) if cursor else 0, preview)


_ANSWERS: Mapping[str | None, _Answer] = {
    None: _answer_detail,
    "context": _answer_context,
    "messages": _answer_messages,
    "checkpoints": _answer_checkpoints,
}


# Requests that count tokens in threads, so that they need an event loop.
_IN_THREADS = frozenset({"context", "messages"})


def _run_answer(answering: Coroutine[Any, Any, Any], resource: str | None) -> Any:
    if resource not in _IN_THREADS:
        return run_without_loop(answering)
    import asyncio  # noqa: PLC0415 - 20 ms

    return asyncio.run(answering)


# --- the journal for reading ------------------------------------------------------------------------------------------


class JournalSource:
    """A journal with the records that existed when this object was made."""

    def __init__(self, journal_dir: Path, on_damage: Callable[[str], None]) -> None:
        """`on_damage` is called with a sentence for each file of which a part cannot be read. Raises
        JournalUnusable."""
        self.records = JournalRecords(journal_dir)
        self.projections = JournalProjections(self.records)
        self.store = LocalStore(self.records, self.projections)
        self.operations = JournalOperations(self.store)
        self.direct = DirectAnswers(self.store)
        self._on_damage = on_damage
        self._reported: set[Path] = set()
        self.keep()

    def projection(self, run: str) -> RunProjection | None:
        """Returns the projection of a run; None if there is no such run."""
        return self.store.projection(run)

    def keep(self) -> None:
        """Stores new projections for later processes, and reports damage that was found since the last call."""
        self.projections.keep()
        damaged = {path: size for path, size in self.records.damaged.items() if path not in self._reported}
        self._reported |= damaged.keys()
        for sentence in damage_of(damaged):
            self._on_damage(sentence)

    def close(self) -> None:
        """Calls `keep`, and closes the index."""
        self.keep()
        self.records.index.close()
