"""What is used of uvicorn's HTTP/1.1 connection is there, and means what is expected, in the installed version."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

import httptools
import pytest
import uvicorn
from uvicorn.server import ServerState

from playhead_collector.compat.uvicorn import HttpConnection

GET = b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /a%20b?c=d HTTP/1.1\r\nContent-Type: Application/JSON\r\nContent-Length: 2\r\n\r\n"
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
BODY = {"type": "http.response.body", "body": b"ok"}


class Wire(asyncio.Transport):
    """A transport whose bytes go nowhere."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 4711)})
        self.written, self.is_closed = b"", False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


@dataclass
class App:
    """An application whose answers begin and end when the test lets them; after an end it waits for a message."""

    begin: asyncio.Event = field(default_factory=asyncio.Event)
    end: asyncio.Event = field(default_factory=asyncio.Event)
    paths: list[str] = field(default_factory=list)
    got: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        if scope["path"] == "/reads":
            self.got += [(await receive())["type"]]
            return
        await self.begin.wait()
        await send(START)
        await self.end.wait()
        await send(BODY)


def connect(
    app: App, kind: type[HttpConnection] = HttpConnection, keep_alive: Any = 60, headers: Any = ()
) -> tuple[Any, Wire]:
    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none", timeout_keep_alive=keep_alive)
    state, wire = ServerState(), Wire()
    state.default_headers = list(headers)
    connection = kind(config=config, server_state=state, app_state={})
    connection.connection_made(wire)
    return connection, wire


@pytest.fixture(autouse=True)
async def _no_request_outlives_its_test() -> AsyncGenerator[None]:
    yield
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def until(is_so: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0)


class Noting(HttpConnection):
    """Notes whether the connection is kept alive, at the end of each head."""

    kept: bool | None = None

    def on_headers_complete(self) -> None:
        self.kept = self.is_kept_alive
        super().on_headers_complete()


async def test_the_request_that_arrives_is_described():
    connection, _ = connect(App(), Noting)
    connection.feed(POST)
    assert connection.client_host == "192.0.2.1"
    assert (connection.method, connection.path) == (b"POST", b"/a%20b")
    assert connection.content_type == "application/json"
    assert connection.head_size == len(b"/a%20b?c=d" + b"Content-Type: Application/JSON\r\nContent-Length: 2\r\n")
    assert connection.kept


@pytest.mark.parametrize("head", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"])
async def test_who_does_not_keep_the_connection_is_known(head: bytes):
    connection, _ = connect(App(), Noting)
    connection.feed(head)
    assert connection.kept is False
    assert connection.content_type == ""


async def test_malformed_bytes_raise_the_error_of_httptools():
    connection, _ = connect(App())
    with pytest.raises(httptools.HttpParserError):
        connection.feed(b"no request\r\n\r\n")


async def test_the_progress_of_an_answer_is_seen():
    app = App()
    connection, _ = connect(app)
    assert not connection.is_answering
    assert not connection.has_begun_answer
    connection.feed(GET)
    assert connection.is_answering
    assert not connection.has_begun_answer
    app.begin.set()
    await until(lambda: connection.has_begun_answer)
    assert connection.is_answering
    app.end.set()
    await until(lambda: not connection.is_answering)
    assert not connection.has_begun_answer
    assert not connection.is_answered_here


async def test_the_connection_is_closed_after_an_answer_when_that_is_asked_for():
    app = App()
    connection, wire = connect(app)
    connection.feed(GET)
    connection.close_after_answer()
    app.begin.set()
    app.end.set()
    await until(lambda: not connection.is_answering)
    assert wire.is_closed
    assert b"connection: close" in wire.written


async def test_requests_ahead_are_counted_and_can_be_dropped():
    app = App()
    connection, _ = connect(app)
    connection.feed(3 * GET)
    assert connection.requests_ahead == 2
    connection.drop_requests_ahead()
    assert connection.requests_ahead == 0
    app.begin.set()
    app.end.set()
    await until(lambda: app.paths)
    await asyncio.sleep(0.01)
    assert app.paths == ["/a"]


async def test_an_application_that_waits_for_a_body_is_woken():
    app = App()
    connection, _ = connect(app)
    connection.feed(b"POST /reads HTTP/1.1\r\nContent-Length: 2\r\n\r\n")
    await until(lambda: app.paths)
    connection.wake_application()
    await until(lambda: app.got)
    assert app.got == ["http.disconnect"]


class Answering(HttpConnection):
    """Answers the path /here itself."""

    def on_headers_complete(self) -> None:
        if self.path == b"/here":
            self.answer_here(b"answer")
        else:
            super().on_headers_complete()


async def test_a_request_that_is_answered_here_does_not_reach_the_application_and_the_next_one_does():
    app = App()
    connection, wire = connect(app, Answering, headers=[(b"date", b"today")])
    connection.feed(b"POST /here HTTP/1.1\r\nContent-Length: 2\r\n\r\nno")
    assert wire.written == b"answer"
    assert connection.is_answered_here
    assert not connection.is_answering
    assert connection.default_headers == ((b"date", b"today"),)
    connection.wake_application()
    connection.feed(GET)
    assert not connection.is_answered_here
    await until(lambda: app.paths)
    assert app.paths == ["/a"]
    connection.connection_lost(None)


async def test_bytes_end_the_wait_for_the_next_request_and_silence_closes_the_connection():
    connection, wire = connect(App(), Answering, keep_alive=0.02)
    connection.feed(b"GET /here HTTP/1.1\r\n\r\n")
    connection.feed(b"GET /here")
    await asyncio.sleep(0.1)
    assert not wire.is_closed
    connection.feed(b" HTTP/1.1\r\n\r\n")
    await until(lambda: wire.is_closed)
