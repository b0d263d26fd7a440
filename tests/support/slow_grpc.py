"""Clients that misuse gRPC over raw sockets, for as long as they are let.

`slow_senders` send a message byte by byte and begin again when they are refused; `cancelling_senders` cancel calls.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from playhead_collector.receive.otlp_grpc import SERVICES

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
ACK = END_STREAM = 1
END_HEADERS = 4
_DECLARED = 100_000
_CANCEL = (8).to_bytes(4, "big")


@asynccontextmanager
async def slow_senders(port: int, count: int, *, seconds_per_byte: float) -> AsyncGenerator[list[int]]:
    """`count` connections until the block ends. Yields a list with the number of calls that each has begun."""
    calls = [0] * count
    senders = [asyncio.create_task(_send(port, calls, number, seconds_per_byte)) for number in range(count)]
    try:
        while not all(calls):
            await asyncio.sleep(0.01)
        yield calls
    finally:
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)


async def _send(port: int, calls: list[int], number: int, seconds_per_byte: float) -> None:
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(PREFACE + frame(SETTINGS, 0, 0, b""))
            stream = 1
            while True:
                calls[number] += 1
                writer.write(frame(HEADERS, END_HEADERS, stream, call_head()))
                writer.write(frame(DATA, 0, stream, b"\0" + _DECLARED.to_bytes(4, "big")))
                trickling = asyncio.create_task(_trickle(writer, stream, seconds_per_byte))
                try:
                    await _until_answered(reader, writer, stream)
                finally:
                    trickling.cancel()
                stream += 2
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()


@asynccontextmanager
async def cancelling_senders(
    port: int, count: int, *, hold_seconds: float, at_a_time: int = 1
) -> AsyncGenerator[list[int]]:
    """`count` connections until the block ends, each of which begins calls, cancels them, and begins again.

    Yields a list with the number of calls that each has cancelled; all have cancelled one.
    """
    calls = [0] * count
    senders = [asyncio.create_task(_cancel(port, calls, number, hold_seconds, at_a_time)) for number in range(count)]
    try:
        while not all(calls):
            await asyncio.sleep(0.01)
        yield calls
    finally:
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)


async def _cancel(port: int, calls: list[int], number: int, hold_seconds: float, at_a_time: int) -> None:
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answering = asyncio.create_task(_until_answered(reader, writer, 0))
        try:
            writer.write(PREFACE + frame(SETTINGS, 0, 0, b""))
            stream = 1
            while not answering.done():
                streams = range(stream, stream + 2 * at_a_time, 2)
                for each in streams:
                    writer.write(frame(HEADERS, END_HEADERS, each, call_head()))
                    writer.write(frame(DATA, 0, each, b"\0" + _DECLARED.to_bytes(4, "big")))
                await asyncio.sleep(hold_seconds)
                for each in streams:
                    writer.write(frame(RST_STREAM, 0, each, _CANCEL))
                calls[number] += at_a_time
                stream = streams.stop
        except ConnectionError:
            pass
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            writer.transport.abort()


async def _trickle(writer: asyncio.StreamWriter, stream: int, seconds_per_byte: float) -> None:
    while True:
        writer.write(frame(DATA, 0, stream, b"x"))
        await asyncio.sleep(seconds_per_byte)


async def _until_answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: int) -> None:
    while True:
        head = await reader.readexactly(9)
        kind, flags, of = head[3], head[4], int.from_bytes(head[5:], "big")
        payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
        if kind == SETTINGS and not flags & ACK:
            writer.write(frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            writer.write(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            raise ConnectionError
        elif of == stream and (kind == RST_STREAM or (kind in {DATA, HEADERS} and flags & END_STREAM)):
            return


def call_head() -> bytes:
    """The headers of a call, each as a literal without Huffman coding."""
    headers = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": f"/{SERVICES['traces']}/Export".encode(),
        b":authority": b"localhost",
        b"content-type": b"application/grpc",
        b"te": b"trailers",
    }
    return b"".join(b"\0%c%b%c%b" % (len(name), name, len(value), value) for name, value in headers.items())


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
