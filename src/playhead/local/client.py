"""The client over the journal: same operations, no HTTP.

Answers the most frequent requests without the HTTP application, which takes a second to load.

Modules that only one kind of request needs are imported in the function that answers it.

A client that answers requests from the journal in this process, without HTTP where possible.

HTTP transports that answer from the journal: a client uses them in the same way as it asks a collector.

Runs coroutines that never wait, without an event loop: those of a store that reads files or memory.

The journal for reading: its records, their projections, and the store over both.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import httpx

from playhead.client.operations import Operations
from playhead.client.requests import ApiRequest, PagedRequest, WatchRequest, items_of
from playhead.errors import SettingInvalid
from playhead.journal.lane import lanes
from playhead.local.journal_records import JournalRecords, damage_of
from playhead.local.projections import JournalProjections
from playhead.model.event import EVENT_KINDS
from playhead.wire.operations import RecordedEvent
from playhead_collector.errors import Refused
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.events import EventFilter, list_checkpoints, list_events, list_last_events
from playhead_collector.read.paging import read_seq
from playhead_collector.read.record import RunRecord, open_record
from playhead_collector.store.ports import RunFilter
from playhead_collector.store.records.ports import RunProjection
from playhead_collector.store.records.store import RecordStore

if TYPE_CHECKING:
    from playhead.client import Client

T = TypeVar("T")
# No request is sent there. It is a local address so that no proxy from the environment gets these requests.
_NO_COLLECTOR = "http://localhost"


@dataclass(frozen=True, slots=True)
class _ResponseBody:
    """The part of a response that `ApiRequest.read` needs."""

    content: bytes


class JournalClient(Operations):
    """Client with the operations of `Client`, answered from the journal of this machine."""

    def __init__(self, journal_dir: Path, on_damage: Callable[[str], None], timeout_seconds: float) -> None:
        """`on_damage` is called with a sentence for each file of the journal of which a part cannot be read.

        Raises SettingInvalid if libraries of the command line are not installed, and JournalUnusable.
        """
        self._source = open_source(journal_dir, on_damage)
        self._timeout_seconds = timeout_seconds
        self._http: Client | None = None

    @property
    def source(self) -> JournalSource:
        """The journal that this client reads."""
        return self._source

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stores new projections for later processes, and closes the files."""
        if self._http is not None:
            self._http.close()
        self._source.close()

    def ask(self, request: ApiRequest[T]) -> T:
        """Returns the answer to a request. Raises ClientError."""
        if request.body is None and request.method is None:
            body = self._source.direct.answer(request.path, request.params)
            if body is not None:
                return request.read(cast(Any, _ResponseBody(body)))
        return self._over_http().ask(request)

    def pages(self, listing: PagedRequest[T]) -> Iterator[T]:
        """Yields the items of a list. Raises ClientError."""
        return items_of(self, listing)

    def stream_events(self, request: WatchRequest) -> Iterator[RecordedEvent]:
        """Raises BadRequest when the first event is read: only a collector can send events of other processes."""
        return self._over_http().stream_events(request)

    def _over_http(self) -> Client:
        if self._http is None:
            from playhead.client import Client  # noqa: PLC0415 - loads an HTTP library

            transport = JournalTransport(self._source)
            self._http = Client(_NO_COLLECTOR, timeout_seconds=self._timeout_seconds, transport=transport)
        return self._http


def open_source(journal_dir: Path, on_damage: Callable[[str], None]) -> JournalSource:
    """Opens the journal. Raises SettingInvalid if a library for reading it is not installed, and JournalUnusable."""
    try:
        pass
    except ImportError as error:
        raise missing_library_error(error) from None
    return JournalSource(journal_dir, on_damage)


def missing_library_error(error: ImportError) -> SettingInvalid:
    """Makes the exception for a library that is not installed; its message says what to install."""
    return SettingInvalid(
        f"the journal is read with the libraries of the command line, of which {error.name} is not installed: "
        "pip install 'playhead[cli]', or name a collector with --url"
    )


class JournalTransport(httpx.BaseTransport):
    """Answers requests from the journal, in this process. A request that it cannot answer gets an error response that
    says why."""

    def __init__(self, source: JournalSource) -> None:
        """Raises SettingInvalid if libraries of the command line are not installed."""
        try:
            from playhead_collector.serve.local import local_app  # noqa: PLC0415 - half a second of imports
        except ImportError as error:
            raise missing_library_error(error) from None
        self._source = source
        self._app = httpx.ASGITransport(local_app(source.records, cache=source.projections))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response of the query API."""
        try:
            return asyncio.run(self._answer(request))
        finally:
            self._source.keep()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._app.handle_async_request(request)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


class CollectorOrJournal(httpx.BaseTransport):
    """Sends requests to the collector. If no collector can be reached and the journal has records, answers from the
    journal from then on."""

    def __init__(self, journal_dir: Path, say: Callable[[str], None]) -> None:
        """`say` is called with a sentence when the journal answers instead, and for each of its damaged files."""
        self._journal_dir = journal_dir
        self._say = say
        self._collector = httpx.HTTPTransport()
        self._journal: JournalTransport | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response of the collector, or else of the journal. Raises httpx.ConnectError if neither can
        answer."""
        if self._journal is not None:
            return self._journal.handle_request(request)
        try:
            return self._collector.handle_request(request)
        except httpx.ConnectError:
            if request.method != "GET" or not _has_lanes(self._journal_dir):
                raise
            try:
                self._journal = JournalTransport(open_source(self._journal_dir, self._say))
            except SettingInvalid as missing:
                self._say(str(missing))
            if self._journal is None:
                raise
        self._say(f"no collector answers: this is from the journal in {self._journal_dir}")
        return self._journal.handle_request(request)

    def close(self) -> None:
        """Closes the connections to the collector."""
        self._collector.close()


def _has_lanes(journal_dir: Path) -> bool:
    try:
        return bool(lanes(journal_dir))
    except OSError:
        return False


def run_without_loop(answering: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits, and returns its result. Raises what the coroutine raises, and RuntimeError if
    it waits."""
    try:
        answering.send(None)
    except StopIteration as done:
        return done.value
    answering.close()
    raise RuntimeError("this question waits for something, and needs an event loop")


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
                return json_bytes(run_without_loop(self._runs(parameters)))
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
    from playhead_collector.read.context import answer_context  # noqa: PLC0415

    at, form = parameters.text("at"), parameters.text("form", "parts", "openai") or "parts"
    exact = parameters.flag("exact", default=False)
    parameters.end()
    return await answer_context(record, at, form, exact)


async def _messages(record: RunRecord, parameters: _Asked) -> Any:
    from playhead_collector.read.messages import list_history  # noqa: PLC0415

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
        return run_without_loop(answering)
    import asyncio  # noqa: PLC0415 - 20 ms

    return asyncio.run(answering)


class JournalSource:
    """A journal with the records that existed when this object was made."""

    def __init__(self, journal_dir: Path, on_damage: Callable[[str], None]) -> None:
        """`on_damage` is called with a sentence for each file of which a part cannot be read. Raises
        JournalUnusable."""
        self.records = JournalRecords(journal_dir)
        self.projections = JournalProjections(self.records)
        self.store = RecordStore(self.records, self.projections)
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
