"""How much is in hand at a time: the gate of [receive].

    full? → body arrives (reading.py) → admitted: unpacked, decoded, stored

What is in hand is memory, and a database that is slower than its senders would let it grow without end. Beyond the
bounds a sender is asked to come back, which OTLP clients do with growing pauses; nothing is queued here. A request is
admitted when its body is there: while it arrives, its sender is who takes the time.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from fastapi import Request

from playhead_collector.receive.body import check_length, decompress, encoding_of, receive
from playhead_collector.receive.transfer_budget import RETRY_SECONDS, TransferBudget, try_later
from playhead_collector.settings import KIB, MIB

__all__ = ["OFF_LOOP_BYTES", "RETRY_SECONDS", "AdmittedRequest", "RequestLimiter", "off_loop"]

# Above this, reading a body takes milliseconds, in which nobody else would be answered.
OFF_LOOP_BYTES = 64 * KIB
# Two: one that unpacks (which lets others run) beside one that decodes (which does not). With more of them the event
# loop would wait for its turn behind each.
_WORKERS = ThreadPoolExecutor(2, "playhead-receive")

_T = TypeVar("_T")


@dataclass(slots=True)
class RequestLimiter:
    """Admits requests while there is room: so many of them, and so many bytes of decompressed bodies in all."""

    max_requests: int
    max_bytes: int
    max_reading_bytes: int = 64 * MIB
    body_seconds: float = 60.0
    requests: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    reading: TransferBudget = field(init=False)
    # Decompression tells from its thread what it holds.
    lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.reading = TransferBudget(self.max_reading_bytes)

    def is_full(self) -> bool:
        """Whether one more request would be refused."""
        return self.requests >= self.max_requests

    @asynccontextmanager
    async def take(self, request: Request, limit: int) -> "AsyncGenerator[AdmittedRequest]":
        """Reads a request's body, as it was sent, and admits it. Raises Refused."""
        encoding = encoding_of(request.headers.get("content-encoding"))
        check_length(request.headers.get("content-length"), limit)
        if self.is_full():  # before the body: nobody sends megabytes to be told so
            raise try_later(f"{self.requests} requests are in work")
        with self.reading.one() as arriving:
            sent = await receive(request.stream(), limit, arriving, body_seconds=self.body_seconds)
        with self.admit() as share:
            share.hold(len(sent))
            share.sent, share.encoding, share.limit = sent, encoding, limit
            del sent  # the share lets go of it when it is unpacked
            yield share

    @contextmanager
    def admit(self) -> "Generator[AdmittedRequest]":
        """One request, for as long as it takes. Raises Refused: 503 with Retry-After when there is no room."""
        if self.is_full():
            raise try_later(f"{self.requests} requests are in work")
        self.requests += 1
        share = AdmittedRequest(self)
        try:
            yield share
        finally:
            self.requests -= 1
            with self.lock:
                self.bytes -= share.bytes


@dataclass(slots=True)
class AdmittedRequest:
    """One request's part of what is in hand."""

    flow: RequestLimiter
    bytes: int = 0
    sent: "bytes" = b""
    encoding: str = "identity"
    limit: int = 0

    def hold(self, size: int) -> None:
        """This request now holds so many bytes. Raises Refused: 503, unless it is the only one that holds any."""
        with self.flow.lock:
            others = self.flow.bytes - self.bytes
            if others and others + size > self.flow.max_bytes:
                raise try_later(f"{others} bytes are in work")
            self.flow.bytes = others + size
            self.bytes = size

    async def body(self) -> "tuple[bytes, int]":
        """The body, unpacked, and how many bytes it had when it was sent. Can be asked for once. Raises Refused."""
        sent, self.sent = self.sent, b""
        if self.encoding == "identity":
            return sent, len(sent)
        # What is sent in an eighth of the size is common, and the bound that counts is that of what comes out.
        unpack = partial(decompress, sent, self.encoding, self.limit, self.hold)
        body = await off_loop(len(sent) * 8, unpack)
        self.hold(len(body))
        return body, len(sent)


async def off_loop(size: int, work: Callable[[], _T]) -> _T:
    """Does work on a body of that size; large ones in a thread, so that the event loop stays live."""
    if size <= OFF_LOOP_BYTES:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_WORKERS, work)
