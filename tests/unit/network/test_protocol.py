"""Connections: what a client may hold, on real sockets and with a clock of ours."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn

from playhead.model.names import COLLECTOR_HEADER
from playhead_collector.network.guard import Guard, Limits
from playhead_collector.network.protocol import log as protocol_log
from playhead_collector.network.protocol import protocol_of

KIB, MIB = 2**10, 2**20
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass
class Served:
    """A server with an application that reads all and says how much it was; or answers as much as it is asked for."""

    guard: Guard
    port: int = 0
    now: float = 0.0
    busy: bool = False
    answered: list[tuple[str, int]] = field(default_factory=list)
    grpc_port: int | None = None
    reached: int = 0
    """Requests that the application saw."""
    received: int = 0
    """Bytes that the connections have read."""

    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self) -> "tuple[asyncio.StreamReader, asyncio.StreamWriter]":
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return reader, writer

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        self.reached += 1
        if scope["path"] == "/refuse":
            head = [(b"content-length", b"2"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 413, "headers": head})
            await send({"type": "http.response.body", "body": b"no", "more_body": False})
            return
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size, more = size + len(message["body"]), message["more_body"]
        body = bytes(int(scope["path"][1:])) if scope["path"][1:].isdecimal() else f"{size}".encode()
        length = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        for start in range(0, len(body), 64 * KIB):
            more = start + 64 * KIB < len(body)
            await send({"type": "http.response.body", "body": body[start : start + 64 * KIB], "more_body": more})

    def wait(self, seconds: float) -> None:
        """The clock goes on, and deadlines are looked at."""
        self.now += seconds
        self.guard.check_deadlines()


@asynccontextmanager
async def served(grpc_port: int | None = None, **limits: Any) -> AsyncGenerator[Served]:
    protocol_log.forget()
    it: Served
    guard = Guard(
        Limits(**limits),
        is_busy=lambda _: it.busy,
        on_answer=lambda route, status: it.answered.append((route, status)),
        clock=lambda: it.now,
    )
    it = Served(guard, grpc_port=grpc_port)
    protocol = protocol_of(guard, it.grpc_port)

    class CountingProtocol(protocol):
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            it.received += len(data)

    config = uvicorn.Config(
        it.app, http=CountingProtocol, lifespan="off", log_config=None, ws="none", interface="asgi3"
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup([listener])
        it.port = listener.getsockname()[1]
        try:
            yield it
        finally:
            for writer in it.writers:
                writer.transport.abort()
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            await server.shutdown([listener])
            await until(lambda: not len(guard))
            await asyncio.sleep(0.01)  # the clients' transports close, too


async def until(true: Any) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.001)


async def rest(reader: asyncio.StreamReader) -> bytes:
    """All that comes before the end of the connection."""
    async with asyncio.timeout(60):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


# --- heads -----------------------------------------------------------------------------------------------------------


async def test_a_connection_that_sends_nothing_is_closed():
    async with served(head_seconds=10) as it:
        reader, writer = await it.connect()
        await until(lambda: len(it.guard) == 1)
        it.wait(9)
        assert len(it.guard) == 1
        it.wait(2)
        assert await rest(reader) == b""
        writer.close()


async def test_a_head_that_trickles_is_answered_and_closed_whatever_comes():
    async with served(head_seconds=10) as it:
        reader, writer = await it.connect()
        for letter in HEAD[:20]:
            writer.write(bytes([letter]))
            await writer.drain()
        await until(lambda: it.received == 20)
        it.wait(11)
        assert b" 408 " in await rest(reader)
        assert it.reached == 0


async def test_a_head_that_trickles_on_a_used_connection_is_closed_too():
    async with served(head_seconds=10) as it:
        reader, writer = await it.connect()
        writer.write(GET)
        await reader.readuntil(b"alive")
        it.wait(60)  # idle: not for the head's deadline to say
        writer.write(b"\r\n")  # blank lines in front of a request are ignored, and no sign of life
        await until(lambda: it.received == len(GET) + 2)
        it.wait(11)
        await rest(reader)
        assert len(it.guard) == 1  # for a moment, in which the client may read why
        it.wait(3)
        await until(lambda: len(it.guard) == 0)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX: " + b"x" * 200 * KIB,
        b"GET /" + b"x" * 200 * KIB,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 40 * KIB,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10 * KIB + b"\r\n",
        b"\r\n" * 100 * KIB,
    ],
    ids=["a long value", "a long path", "many without an end", "many", "nothing but blank lines"],
)
async def test_a_head_is_bounded(head: bytes):
    async with served(max_head_bytes=32 * KIB) as it:
        reader, writer = await it.connect()
        writer.write(head)
        assert b" 431 " in await rest(reader)
        assert it.reached == 0


async def test_headers_behind_a_body_are_bounded_and_dropped():
    async with served() as it:
        reader, writer = await it.connect()
        start = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"
        writer.write(start + b"A: b\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n3")
        writer.write(start + b"A: " + b"x" * 4 * MIB)
        assert b" 400 " in await rest(reader)


async def test_requests_that_are_sent_ahead_are_bounded():
    async with served() as it:
        reader, writer = await it.connect()
        writer.write(b"GET /10000000 HTTP/1.1\r\n\r\n" * 2_000)
        await rest(reader)
        assert it.reached == 1


# --- bodies ----------------------------------------------------------------------------------------------------------


async def test_a_body_that_does_not_end_is_given_up():
    async with served(body_seconds=60) as it:
        reader, writer = await it.connect()
        writer.write(HEAD + b"Content-Length: 100\r\n\r\nabc")
        await until(lambda: it.reached == 1)
        it.wait(59)
        assert len(it.guard) == 1
        it.wait(5)
        answer = await rest(reader)
        assert b" 408 " in answer
        assert b'"code":4' in answer  # OTLP's form on OTLP's path


async def test_a_body_that_nobody_wants_is_given_up_too():
    async with served(body_seconds=60) as it:
        it.busy = True
        reader, writer = await it.connect()
        writer.write(HEAD + b"Content-Length: 100\r\n\r\nabc")
        assert b" 503 " in await reader.readuntil(b"\r\n\r\n")
        it.wait(70)
        assert b" 408 " not in await rest(reader)


async def send_until_cut(writer: asyncio.StreamWriter, most: int) -> int:
    """Sends so many bytes, or until the connection is cut; how many were taken."""
    sent = 0
    try:
        async with asyncio.timeout(60):
            while sent < most:
                writer.write(bytes(64 * KIB))
                await writer.drain()
                sent += 64 * KIB
    except (ConnectionError, TimeoutError):
        pass
    return sent


@pytest.mark.parametrize("head", [b"Content-Length: 157286400", b"Transfer-Encoding: chunked"])
async def test_a_body_that_is_refused_is_answered_at_once_and_not_read_to_its_end(head: bytes):
    async with served(max_dropped_bytes=4 * MIB) as it:
        reader, writer = await it.connect()
        chunk = b"" if b"Length" in head else b"9600000\r\n"
        writer.write(b"POST /refuse HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n" + chunk)
        async with asyncio.timeout(60):
            assert b" 413 " in await reader.readuntil(b"no")  # before any of it was sent
            assert await reader.read() == b""  # and it sees the end
        assert await send_until_cut(writer, 150 * MIB) < 100 * MIB  # what lies in the buffers of the sockets included
        await until(lambda: len(it.guard) == 0)


async def test_who_looks_for_the_answer_after_all_was_sent_finds_it():
    async with served(max_dropped_bytes=4 * MIB) as it:
        reader, writer = await it.connect()
        writer.write(b"POST /refuse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n")
        await until(lambda: it.reached == 1)
        writer.write(bytes(3_000_000))
        await writer.drain()
        assert (await rest(reader)).endswith(b"\r\n\r\nno")
        it.wait(3)
        await until(lambda: len(it.guard) == 0)


async def test_a_body_that_is_refused_while_there_is_no_room_is_not_read_without_end():
    async with served(max_dropped_bytes=4 * MIB) as it:
        it.busy = True
        reader, writer = await it.connect()
        writer.write(HEAD + b"Content-Length: 1000000000000\r\n\r\n")
        assert b" 503 " in await reader.readuntil(b"\r\n\r\n")
        assert await send_until_cut(writer, 150 * MIB) < 100 * MIB
        await until(lambda: len(it.guard) == 0)


# --- answers ---------------------------------------------------------------------------------------------------------


async def cut_off(it: Served) -> None:
    """Waits until the connection is cut off, once it is full: until then, some of the answer is taken meanwhile."""
    async with asyncio.timeout(60):
        while len(it.guard):
            it.wait(21)
            await asyncio.sleep(0.01)


async def test_who_does_not_take_the_answer_is_cut_off():
    async with served(send_seconds=20) as it:
        reader, writer = await it.connect()
        writer.write(b"GET /50000000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        it.wait(0)
        it.wait(19)
        assert len(it.guard) == 1
        await cut_off(it)


async def test_who_takes_it_slowly_but_takes_it_is_served():
    async with served(send_seconds=20) as it:
        reader, writer = await it.connect()
        writer.write(b"GET /20000000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        got = 0
        while got < 20_000_000:
            got += len(await reader.readexactly(min(4_000_000, 20_000_000 - got)))
            await asyncio.sleep(0.02)
            it.wait(15)
        assert len(it.guard) == 1
        writer.close()


async def test_who_asks_for_the_connection_to_be_closed_and_does_not_read_is_cut_off():
    async with served(send_seconds=20) as it:
        reader, writer = await it.connect()
        reader._transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        writer.write(b"GET /9000000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await until(lambda: it.reached == 1)
        await cut_off(it)


# --- how many --------------------------------------------------------------------------------------------------------


async def test_too_many_connections_of_one_client_are_refused_with_a_word(caplog: pytest.LogCaptureFixture):
    async with served(max_connections=100, max_connections_per_client=3) as it:
        kept = [await it.connect() for _ in range(3)]
        reader, writer = await it.connect()
        writer.write(HEAD + b"Content-Length: 3\r\n\r\nabc")
        answer = await rest(reader)
        assert b" 503 " in answer
        assert b"Retry-After: 1" in answer or b"retry-after: 1" in answer
        assert it.reached == 0
        for _, one in kept[:1]:
            one.close()
        await until(lambda: len(it.guard) == 2)
        reader, writer = await it.connect()
        writer.write(HEAD + b"Content-Length: 3\r\nConnection: close\r\n\r\nabc")
        assert b" 200 " in await rest(reader)
        assert "PLAYHEAD_MAX_CONNECTIONS_PER_CLIENT" in caplog.text


async def test_probes_are_answered_when_there_are_too_many_connections():
    async with served(max_connections=2) as it:
        kept = [await it.connect() for _ in range(2)]
        await until(lambda: len(it.guard) == 2)
        reader, writer = await it.connect()
        writer.write(GET)
        assert b'{"status":"alive"}' in await rest(reader)
        writer.close()
        await until(lambda: len(it.guard) == 2)
        reader, writer = await it.connect()
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in await rest(reader)
        for _, one in kept:
            one.close()


async def test_connections_without_end_are_cut():
    async with served(max_connections=2) as it:
        kept = [await it.connect() for _ in range(10)]
        await until(lambda: len(it.guard) == 3)
        await asyncio.sleep(0.01)
        assert len(it.guard) == 3
        for _, one in kept:
            one.close()


# --- shedding --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [b"application/json", b"application/x-protobuf"])
async def test_while_there_is_no_room_requests_are_refused_before_their_body_and_the_connection_is_kept(kind: bytes):
    async with served() as it:
        it.busy = True
        reader, writer = await it.connect()
        head = HEAD.replace(b"application/json", kind)
        writer.write(head + b"Content-Length: 3000000\r\n\r\n")
        answer = await reader.readuntil(b"\r\n\r\n")
        assert b" 503 " in answer
        assert kind in answer
        assert b"retry-after: 1" in answer
        assert COLLECTOR_HEADER.encode() in answer
        it.busy = False
        writer.write(bytes(3_000_000) + HEAD + b"Content-Length: 3\r\nConnection: close\r\n\r\nabc")
        assert b" 200 " in await rest(reader)
        assert it.answered == [("none", 503)]


async def test_probes_need_neither_room_nor_the_application():
    async with served() as it:
        it.busy = True
        reader, writer = await it.connect()
        writer.write(GET + GET.replace(b"GET", b"HEAD") + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answers = await rest(reader)
        assert answers.count(b"HTTP/1.1 200 OK") == 3
        assert answers.count(b"alive") == 2
        assert answers.count(COLLECTOR_HEADER.encode() + b": ") == 3
        assert it.reached == 0
        assert it.answered == [("/healthz", 200)] * 3


# --- what is no HTTP/1.1 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("grpc_port", "elsewhere"), [(5317, b"port 5317, or "), (None, b"HTTP/1.1: ")])
async def test_grpc_is_told_which_port_and_protocol_to_set(
    caplog: pytest.LogCaptureFixture, grpc_port: int | None, elsewhere: bytes
):
    async with served(grpc_port) as it:
        reader, writer = await it.connect()
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
        answer = await rest(reader)
        assert answer[3] == 4  # a SETTINGS frame, so that the client reads what follows
        assert elsewhere + b"set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in answer
        assert b"4317" not in answer
        assert "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in caplog.text
        assert ("5317" in caplog.text) is (grpc_port is not None)


async def test_tls_is_named(caplog: pytest.LogCaptureFixture):
    async with served() as it:
        reader, writer = await it.connect()
        writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50))
        await rest(reader)
        assert "TLS" in caplog.text


async def test_malformed_requests_are_answered_and_logged_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(protocol_log, "_clock", lambda: 0.0)
    async with served() as it:
        for _ in range(50):
            reader, writer = await it.connect()
            writer.write(b"hello\r\n\r\n")
            assert b" 400 " in await rest(reader)
        assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) == 1


async def test_what_was_asked_before_garbage_is_answered():
    async with served() as it:
        reader, writer = await it.connect()
        writer.write(b"GET /5 HTTP/1.1\r\nHost: localhost\r\n\r\n\x00\x01")
        assert b" 200 " in await rest(reader)


async def test_an_upgrade_is_not_made_and_the_request_is_answered():
    async with served() as it:
        reader, writer = await it.connect()
        writer.write(b"GET /5 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n")
        assert b" 200 " in await rest(reader)
