"""Routes of declared operations: what FastAPI reads of them, and how each kind of answer is sent."""

import inspect
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import ModuleType
from typing import Annotated, Any, cast

import httpx
import pytest
from fastapi import FastAPI

from playhead.model.canonical import Content
from playhead.wire.operations.bounds import Bounds, Cursor, Limit, Most
from playhead.wire.operations.declared import all_operations
from playhead.wire.operations.operation import (
    ADMIN,
    INGEST,
    READ,
    DeclaredOperation,
    StrictBody,
    as_content,
    download,
    get,
    get_list,
    post,
    upload,
    watch,
)
from playhead.wire.operations.page import Page
from playhead_collector.analysis.configuration import Configured
from playhead_collector.handlers import handler_of
from playhead_collector.handlers.asking import Asking, Changing, Services
from playhead_collector.handlers.handling import changes, handlers_in, handles
from playhead_collector.handlers.replies import BytesReply, EventStreamReply, FileReply, LiveStream, StoredContentReply
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.serve import errors, operations
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.operations import OperationRoutes
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.routing import ApiRoutes
from playhead_collector.workers.ports import InProcessAnalysis
from tests.support.readers.fake import FakeRunner, FakeStore

Text = Annotated[str, Bounds(max_length=3)]
Value = Annotated[bool | int | float | Annotated[str, Bounds(min_length=1)], Bounds()]


class Samples:
    @get("/plain/{name}", scope=READ, tag="t", also_refuses={409: "It is held."}, deprecated="use the other")
    def plain(self, name: Text, *, limit: Limit = 10, cursor: Cursor = None) -> dict[str, Any]:
        """Plain."""
        ...

    @get_list("/items", scope=READ, tag="t", page_size=7)
    def items(self, *, names: Annotated[Sequence[str], Bounds(name="name")] = (), limit: Most = None) -> Page[int]: ...

    @post("/one", scope=INGEST, tag="t")
    def one(self, value: Value) -> dict[str, Any]: ...

    @post("/strict", scope=ADMIN, tag="t", strict_body=StrictBody("StrictSample", "What is asked."))
    def strict(self, *, at: Annotated[int | str | None, Bounds(description="Where.")] = None) -> dict[str, Any]: ...

    @get("/explained", scope=READ, tag="t", needs="explainer")
    def explained(self) -> dict[str, Any]: ...

    @download("/content", scope=READ, tag="t", media_type="*/*", read=as_content, answer_text="The bytes.")
    def content(self, kind: Annotated[str, Bounds()]) -> Content: ...

    @watch("/live", scope=READ, tag="t", answer_text="Events.", also_answers={204: "It has ended."})
    def live(self, *, limit: Annotated[int | None, Bounds(ge=1)] = None) -> int: ...

    @get_list("/both", scope=READ, tag="t", page_size=None)
    def both(self, *, limit: Most = None) -> Page[int]: ...

    @watch("/both", scope=READ, tag="t", answer_text="Events.", also_answers={204: "It has ended."})
    def both_live(self, *, limit: Annotated[int | None, Bounds(ge=1)] = None) -> int: ...

    @upload("/file", scope=ADMIN, tag="t", media_type="a/b")
    def send(self, body: Annotated[bytes, Bounds()]) -> dict[str, Any]: ...


@handles(Samples.plain)
async def plain(asking: Asking, name: str, *, limit: int = 10, cursor: str | None = None) -> dict[str, Any]:
    return {"name": name, "limit": limit, "cursor": cursor, "page": asking.cursor}


@handles(Samples.items)
async def items(asking: Asking, *, names: Sequence[str] = (), limit: int | None = None) -> Page[int]:
    return {"items": [asking.page(limit), len(names)], "next_cursor": asking.cursor}


@changes(Samples.one)
async def one(asking: Changing, value: bool | float | str) -> dict[str, Any]:
    return {"value": value, "type": type(value).__name__, "key": asking.request.access.key_name}


@handles(Samples.strict)
async def strict(asking: Asking, *, at: int | str | None = None) -> dict[str, Any]:
    return {"at": at}


@handles(Samples.explained)
async def explained(asking: Asking) -> dict[str, Any]:
    return {"model": asking.explainer.model}


CLOSED: list[str] = []


async def _events() -> AsyncIterator[bytes]:
    yield b"data: 1\n\n"


@handles(Samples.content)
async def content(
    asking: Asking, kind: str
) -> Content | BytesReply | StoredContentReply | FileReply | EventStreamReply:
    stored = Content(b"0123456789", "text/plain")
    match kind:
        case "stored":
            return StoredContentReply(stored.ref, stored)
        case "headed":
            return BytesReply(stored, {"x-count": "3"})
        case "file":
            return FileReply(io.BytesIO(b"file"), "a.gz", "application/gzip")
        case "events":
            return EventStreamReply(_events())
        case _:
            return stored


@asynccontextmanager
async def _channel() -> AsyncIterator[None]:
    yield
    CLOSED.append("closed")


async def _stream(limit: int | None) -> LiveStream | None:
    stack = AsyncExitStack()
    await stack.enter_async_context(_channel())
    return None if limit == 1 else LiveStream(_events(), stack)


@handles(Samples.live)
async def live(asking: Asking, *, limit: int | None = None) -> LiveStream | None:
    return await _stream(limit)


@handles(Samples.both)
async def both(asking: Asking, *, limit: int | None = None) -> Page[int]:
    return {"items": [asking.page(limit, 5)], "next_cursor": None}


@handles(Samples.both_live)
async def both_live(asking: Asking, *, limit: int | None = None) -> LiveStream | None:
    assert asking.request.last_event_id in (None, "7")
    return await _stream(limit)


@changes(Samples.send)
async def send(asking: Changing, body: bytes) -> dict[str, Any]:
    return {"bytes": len(body)}


HERE = ModuleType("here")
for _name, _value in tuple(globals().items()):
    setattr(HERE, _name, _value)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    handlers = handlers_in(HERE)
    monkeypatch.setattr(operations, "handler_of", lambda operation: handlers[operation.key])
    store, app, reads = FakeStore(), FastAPI(), ReadLimiter(2, 2)
    settings = AnalysisSettings.of(Configured())
    analysis = AnalysisHandlers(
        cast(Any, store), cast(Any, FakeRunner()), InProcessAnalysis(cast(Any, store), settings), reads
    )
    routes = OperationRoutes(analysis, settings, Services())
    group = ApiRoutes(app, reads)
    for operation in (Samples.plain, Samples.items, Samples.one, Samples.strict, Samples.explained, Samples.content):
        routes.add(group, operation)
    routes.add(group, Samples.live)
    routes.add(group, Samples.both, live=Samples.both_live)
    routes.add(group, Samples.send)
    errors.install(app)
    return app


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://collector/api/v1") as client:
        yield client


async def test_parameters_are_read_as_the_declaration_says(client: httpx.AsyncClient):
    answer = (await client.get("/plain/abc?limit=3&cursor=c")).json()
    assert answer == {"name": "abc", "limit": 3, "cursor": "c", "page": None}
    assert (await client.get("/plain/abc")).json()["limit"] == 10
    refused = await client.get("/plain/abcd?limit=0")
    assert refused.status_code == 422
    assert refused.json()["error"]["message"] == (
        "path.name: String should have at most 3 characters; query.limit: Input should be greater than or equal to 1"
    )


async def test_a_list_has_the_size_of_a_page_and_a_cursor(client: httpx.AsyncClient):
    assert (await client.get("/items")).json() == {"items": [7, 0], "next_cursor": None}
    asked = await client.get("/items?limit=9&cursor=c&name=a&name=b")
    assert asked.json() == {"items": [9, 2], "next_cursor": "c"}
    assert (await client.get("/items?limit=1001")).status_code == 422


async def test_an_unknown_parameter_is_refused_with_those_that_are_known(client: httpx.AsyncClient):
    refused = await client.get("/items?names=a")
    assert refused.status_code == 400
    assert refused.json()["error"] == {
        "code": "unknown_parameter",
        "message": "there is no parameter 'names' here: known are cursor, limit, name",
    }


@pytest.mark.parametrize(("value", "kind"), [(True, "bool"), (1, "int"), (0.5, "float"), ("1", "str")])
async def test_a_union_in_a_body_is_strict(client: httpx.AsyncClient, value: Any, kind: str):
    assert (await client.post("/one", json={"value": value})).json() == {"value": value, "type": kind, "key": None}
    assert (await client.post("/one", json={"value": ""})).status_code == 422


async def test_a_strict_body_has_no_other_members(client: httpx.AsyncClient, app: FastAPI):
    assert (await client.post("/strict", json={"at": "7"})).json() == {"at": "7"}
    assert (await client.post("/strict", json={"at": 7})).json() == {"at": 7}
    refused = await client.post("/strict", json={"ta": 7})
    assert refused.status_code == 422
    body = app.openapi()["components"]["schemas"]["StrictSample"]
    assert (body["description"], body["additionalProperties"]) == ("What is asked.", False)


async def test_what_is_not_switched_on_is_refused_with_what_to_do(client: httpx.AsyncClient, app: FastAPI):
    refused = await client.get("/explained")
    assert refused.status_code == 409
    assert "PLAYHEAD_EXPLAIN_URL" in refused.json()["error"]["message"]
    described = app.openapi()["paths"]["/api/v1/explained"]["get"]["responses"]["409"]
    assert described["description"] == "No model for explanations is configured."


async def test_bytes_are_sent_in_each_of_their_ways(client: httpx.AsyncClient):
    plain = await client.get("/content?kind=plain")
    assert (plain.content, plain.headers["content-type"]) == (b"0123456789", "text/plain; charset=utf-8")
    part = await client.get("/content?kind=stored", headers={"range": "bytes=2-3"})
    assert (part.status_code, part.content) == (206, b"23")
    assert (await client.get("/content?kind=headed")).headers["x-count"] == "3"
    file = await client.get("/content?kind=file")
    assert (file.content, file.headers["content-type"]) == (b"file", "application/gzip")
    assert (await client.get("/content?kind=events")).headers["content-type"].startswith("text/event-stream")


async def test_live_events_are_sent_until_they_end_and_what_they_hold_is_closed(client: httpx.AsyncClient):
    CLOSED.clear()
    answer = await client.get("/live")
    assert (answer.text, answer.headers["content-type"]) == ("data: 1\n\n", "text/event-stream; charset=utf-8")
    assert CLOSED == ["closed"]
    assert (await client.get("/live?limit=1")).status_code == 204


async def test_one_path_answers_with_a_list_or_live(client: httpx.AsyncClient):
    stream = {"accept": "text/event-stream", "last-event-id": "7"}
    assert (await client.get("/both")).json() == {"items": [5], "next_cursor": None}
    assert (await client.get("/both", headers=stream)).text == "data: 1\n\n"
    refused = await client.get("/both?cursor=c", headers=stream)
    assert "a stream has no pages" in refused.json()["error"]["message"]


async def test_an_upload_is_read_as_it_is(client: httpx.AsyncClient, app: FastAPI):
    assert (await client.post("/file", content=b"\x00abc", headers={"content-type": "a/b"})).json() == {"bytes": 4}
    body = app.openapi()["paths"]["/api/v1/file"]["post"]["requestBody"]
    assert list(body["content"]) == ["a/b"]
    assert (body["content"]["a/b"]["schema"]["type"], body["required"]) == ("string", True)


def test_what_is_deprecated_says_what_to_use(app: FastAPI):
    described = app.openapi()["paths"]["/api/v1/plain/{name}"]["get"]
    assert described["deprecated"] is True
    assert described["description"] == "Plain.\n\nDeprecated: use the other"
    assert described["responses"]["409"]["description"] == "It is held."


# --- handlers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.key)
def test_a_handler_has_the_parameters_of_its_operation(operation: DeclaredOperation):
    handler = handler_of(operation)
    assert handler.operation is operation
    _, *declared = inspect.signature(operation.declare).parameters.values()
    _, *handled = inspect.signature(handler.function).parameters.values()
    assert [(each.name, each.kind, each.default) for each in handled] == [
        (each.name, each.kind, each.default) for each in declared
    ]


@pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.key)
def test_what_needs_more_than_the_scope_read_changes_something_or_costs_money(operation: DeclaredOperation):
    if handler_of(operation).changes:
        assert operation.facts.scope != READ


def pyright_refuses_handlers_that_are_not_their_operation_s() -> None:
    """Never executed: pyright says when one of these comments ignores nothing."""

    @handles(Samples.explained)  # pyright: ignore[reportArgumentType]
    async def another_answer(asking: Asking) -> int:
        return 1

    @handles(Samples.one)  # pyright: ignore[reportArgumentType]
    async def another_type(asking: Asking, value: list[int]) -> dict[str, Any]:
        return {"value": value}

    @handles(Samples.items)  # pyright: ignore[reportArgumentType]
    async def a_parameter_is_missing(asking: Asking, *, limit: int | None = None) -> Page[int]:
        return {"items": [], "next_cursor": None}
