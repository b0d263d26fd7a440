"""Answers the most frequent requests without the HTTP application, which takes a second to load.

Modules that only one kind of request needs are imported in the function that answers it.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from playhead.local.finished import finished
from playhead.model.event import EVENT_KINDS
from playhead_collector.errors import Refused
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.events import EventFilter, list_checkpoints, list_events, list_last_events
from playhead_collector.read.paging import read_seq
from playhead_collector.read.record import RunRecord, open_record
from playhead_collector.store.ports import RunFilter
from playhead_collector.store.records.store import RecordStore

_PROJECT = 1
_RUN = re.compile(r"runs/([0-9a-f]{1,32}|last)(?:/(events|state|context|messages|checkpoints))?")
_MOST, _MOST_PREVIEW, _LAST_SEQ = 1_000, 10_000, 999_999_999
_AT_LENGTH = 300
_Answer = Callable[[RunRecord, "_Asked"], Coroutine[Any, Any, Any]]


class _NotDirect(Exception):
    """The HTTP application has to answer: a parameter is invalid, or only the application reads it."""


class _Asked:
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
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= _AT_LENGTH and "\0" not in value)


class DirectAnswers:
    """Answers requests of the query API from a store whose coroutines never wait."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    def answer(self, path: str, params: Mapping[str, Any]) -> bytes | None:
        """Returns the answer as JSON; None if the HTTP application has to answer. That also makes all error
        responses."""
        parameters = _Asked(params)
        try:
            if path == "runs":
                return json_bytes(finished(self._runs(parameters)))
            match = _RUN.fullmatch(path)
            return None if match is None else json_bytes(_run(self._of_run(match[1], match[2], parameters), match[2]))
        except (_NotDirect, Refused):
            return None

    async def project_now(self, project_id: int, run: str) -> None:
        """Does nothing: the store projects a run when it is read."""

    async def catch_up(self) -> None:
        """Does nothing, for the same reason."""

    async def _runs(self, parameters: _Asked) -> Any:
        from playhead_collector.read.prices import shipped  # noqa: PLC0415
        from playhead_collector.read.runs import list_runs  # noqa: PLC0415

        limit, cursor = parameters.number("limit", 50, 1, _MOST), parameters.text("cursor")
        parameters.end()
        return await list_runs(self._store, _PROJECT, RunFilter(), limit, cursor, shipped())

    async def _of_run(self, run: str, resource: str | None, parameters: _Asked) -> Any:
        record = await open_record(self._store, self, _PROJECT, run)
        return await _ANSWERS[resource](record, parameters)


async def _detail(record: RunRecord, parameters: _Asked) -> Any:
    from playhead_collector.read.prices import shipped  # noqa: PLC0415
    from playhead_collector.read.runs import run_detail  # noqa: PLC0415

    parameters.end()
    return await run_detail(record, shipped())


async def _events(record: RunRecord, parameters: _Asked) -> Any:
    kinds = parameters.text("kinds")
    where = EventFilter(kinds.split(",") if kinds else (), parameters.text("priority", "critical", "normal"))
    preview, last = parameters.number("preview", 0, 0, _MOST_PREVIEW), parameters.number("last", None, 1, _MOST)
    limit, cursor = parameters.number("limit", 100, 1, _MOST), parameters.text("cursor")
    after = parameters.number("after", 0, 0, _LAST_SEQ)
    parameters.end()
    if not set(where.kinds).issubset(EVENT_KINDS) or (last is not None and (cursor is not None or after)):
        raise _NotDirect
    if last is not None:
        return await list_last_events(record, where, min(last, limit), preview)
    return await list_events(record, where, limit, read_seq(cursor) if cursor else after, preview)


async def _state(record: RunRecord, parameters: _Asked) -> Any:
    from playhead_collector.read.prices import shipped  # noqa: PLC0415
    from playhead_collector.read.state import answer_state  # noqa: PLC0415

    at, hydrate = parameters.text("at"), parameters.flag("hydrate", default=False)
    parameters.end()
    return await answer_state(record, at, hydrate, shipped())


async def _context(record: RunRecord, parameters: _Asked) -> Any:
    from playhead_collector.read.context.context import answer_context  # noqa: PLC0415

    at, form = parameters.text("at"), parameters.text("form", "parts", "openai") or "parts"
    exact = parameters.flag("exact", default=False)
    parameters.end()
    return await answer_context(record, at, form, exact)


async def _messages(record: RunRecord, parameters: _Asked) -> Any:
    from playhead_collector.read.context.messages import list_history  # noqa: PLC0415

    at, hydrate = parameters.text("at"), parameters.flag("hydrate", default=True)
    limit, cursor = parameters.number("limit", 100, 1, _MOST), parameters.text("cursor")
    parameters.end()
    return await list_history(record, limit, read_seq(cursor), hydrate, at)


async def _checkpoints(record: RunRecord, parameters: _Asked) -> Any:
    preview = parameters.number("preview", 0, 0, _MOST_PREVIEW)
    limit, cursor = parameters.number("limit", 100, 1, _MOST), parameters.text("cursor")
    parameters.end()
    return await list_checkpoints(record, limit, read_seq(cursor) if cursor else 0, preview)


_ANSWERS: Mapping[str | None, _Answer] = {
    None: _detail, "events": _events, "state": _state, "context": _context, "messages": _messages,
    "checkpoints": _checkpoints,
}  # fmt: skip


# Requests that count tokens in threads, so that they need an event loop.
_IN_THREADS = frozenset({"context", "messages"})


def _run(answering: Coroutine[Any, Any, Any], resource: str | None) -> Any:
    if resource not in _IN_THREADS:
        return finished(answering)
    import asyncio  # noqa: PLC0415 - 20 ms

    return asyncio.run(answering)
