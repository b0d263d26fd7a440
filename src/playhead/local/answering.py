"""Answers declared operations from the journal: their handlers over its records, in this process, without HTTP."""

from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, cast

from playhead.client.refusals import refusal_error
from playhead.client.requests import is_whole_run_id, not_in_path
from playhead.errors import ClientError
from playhead.model.canonical import Content, parse_json
from playhead.wire.operations import Page
from playhead.wire.operations.operation import DeclaredOperation, Form, NoSuchPath, OperationCall, request_of
from playhead_collector.analysis.search.settings import SearchSettings
from playhead_collector.errors import CollectorError, refusal_of
from playhead_collector.handlers import handler_of
from playhead_collector.handlers.asking import Asking, RequestFacts, Services, needs_collector
from playhead_collector.handlers.handling import Handler
from playhead_collector.handlers.journal import NothingToProject
from playhead_collector.handlers.replies import BytesReply, FileReply, StoredContentReply
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.prices import shipped
from playhead_collector.read.record import open_record
from playhead_collector.store.records.store import RecordStore

T = TypeVar("T")
_PROJECT_ID = 1


class JournalOperations:
    """Answers calls of declared operations over a store of records."""

    def __init__(self, store: RecordStore, context_windows: Mapping[str, int]) -> None:
        """`context_windows`: limits of contexts that count more than the built-in ones, by the beginning of a model's
        name."""
        self._store = store
        self._settings = AnalysisSettings(replace(shipped(), windows=context_windows))

    def answer(self, call: OperationCall[T]) -> T:
        """Returns the answer. Raises ClientError: as over HTTP, or BadRequest for what needs a collector."""
        return self._checked(call.operation, _checked_values(call), None)

    def items(self, call: OperationCall[Page[T]]) -> Iterator[T]:
        """Yields the items of a list, at most the `limit` of the call. Raises ClientError."""
        limit: int | None = call.given.get("limit")
        if limit == 0:
            return
        values = self._with_run_id(call.operation, _checked_values(call))
        cursor: str | None = None
        while True:
            size = call.operation.facts.client_page
            page = self._checked(
                call.operation, {**values, "limit": size if limit is None else max(1, min(size, limit))}, cursor
            )
            yield from page["items"]
            cursor = page["next_cursor"]
            limit = None if limit is None else limit - len(page["items"])
            if cursor is None or (limit is not None and limit <= 0):
                return

    def refuse(self) -> NoReturn:
        """Raises BadRequest: this needs a collector."""
        raise _client_error(needs_collector())

    def _with_run_id(self, operation: DeclaredOperation, values: dict[str, Any]) -> dict[str, Any]:
        """Replaces the name of the run in the path by its id: `last` may mean another run at the next page."""
        for parameter in operation.parameters:
            if parameter.place != "path" or not parameter.bounds.names_run:
                continue
            if not is_whole_run_id(run := str(values[parameter.name])):
                record = _raising(open_record(self._store, NothingToProject(), _PROJECT_ID, run), waits=False)
                values = {**values, parameter.name: record.run}
        return values

    def _checked(self, operation: DeclaredOperation, values: Mapping[str, Any], cursor: str | None) -> Any:
        handler = handler_of(operation)
        asking = Asking(
            store=self._store, settings=self._settings, projector=NothingToProject(),
            services=Services(search=SearchSettings(seconds=None)), request=RequestFacts(cursor=cursor),
        )  # fmt: skip
        return _read(operation, _raising(_answered(handler, asking, values), waits=handler.waits))


async def _answered(handler: Handler, asking: Asking, values: Mapping[str, Any]) -> Any:
    if handler.with_store or handler.operation.facts.form is Form.EVENTS:
        raise needs_collector()
    return await handler.answer(asking, values)


def _checked_values(call: OperationCall[Any]) -> dict[str, Any]:
    """Returns the arguments as they are sent. Raises BadRequest and NotFound, as over HTTP."""
    try:
        request_of(call)
    except NoSuchPath as error:
        raise not_in_path(error) from None
    values = call.values()
    refusals = [
        refusal
        for parameter in call.operation.parameters
        if parameter.name in values
        and (call.operation.facts.form is not Form.PAGE or parameter.name != "limit")
        and (refusal := parameter.refusal(values[parameter.name])) is not None
    ]
    if refusals:
        raise refusal_error(422, "; ".join(refusals), "invalid")
    return values


def _read(operation: DeclaredOperation, answer: object) -> Any:
    """Returns the client's answer: what it would read over HTTP."""
    match answer:
        case BytesReply(content, headers):
            pass
        case StoredContentReply(_, content):
            headers: Mapping[str, str] = {}
        case FileReply(file, _, media_type):
            with file:
                file.seek(0)
                content, headers = Content(file.read(), media_type), {}
        case Content():
            content, headers = answer, {}
        case _:
            return parse_json(json_bytes(answer))
    read = operation.read
    return content if read is None else read(content.data, {"content-type": content.media_type, **headers})


def _raising(answering: Coroutine[Any, Any, T], *, waits: bool) -> T:
    """Runs a coroutine, in an event loop if it waits for something. Raises ClientError for what the collector's code
    refuses."""
    try:
        if not waits:
            return run_without_loop(answering)
        import asyncio  # noqa: PLC0415 - 20 ms

        return asyncio.run(answering)
    except CollectorError as error:
        raise _client_error(error) from None


def _client_error(error: CollectorError) -> ClientError:
    refused = refusal_of(error)
    return refusal_error(refused.status, str(refused), refused.code)


def run_without_loop(answering: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits, and returns its result. Raises what the coroutine raises, and RuntimeError if
    it waits."""
    try:
        answering.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    answering.close()
    raise RuntimeError("this operation waits for something: its handler has to say waits=True")
