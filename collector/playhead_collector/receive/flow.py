"""How much is in hand at a time: the gate of [receive].

What is in hand is memory, and a database that is slower than its senders would let it grow without end. Beyond the
bounds a sender is asked to come back, which OTLP clients do with growing pauses; nothing is queued here.
"""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from fastapi import Request

from playhead_collector.errors import Refused
from playhead_collector.receive.body import decompress, encoding_of, receive
from playhead_collector.settings import KIB

# Above this, reading a body takes milliseconds, in which nobody else would be answered.
OFF_LOOP_BYTES = 256 * KIB
RETRY_SECONDS = 1

_T = TypeVar("_T")


@dataclass(slots=True)
class Flow:
    """Admits requests while there is room: so many of them, and so many bytes of decompressed bodies in all."""

    max_requests: int
    max_bytes: int
    requests: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    # Decompression tells from its thread what it holds.
    lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @contextmanager
    def admit(self) -> "Generator[Share]":
        """One request, for as long as it takes. Raises Refused: 503 with Retry-After when there is no room."""
        if self.requests >= self.max_requests:
            raise _come_back(f"{self.requests} requests are in work")
        self.requests += 1
        share = Share(self)
        try:
            yield share
        finally:
            self.requests -= 1
            with self.lock:
                self.bytes -= share.bytes


@dataclass(slots=True)
class Share:
    """One request's part of what is in hand."""

    flow: Flow
    bytes: int = 0

    def hold(self, size: int) -> None:
        """This request now holds so many bytes. Raises Refused: 503, unless it is the only one that holds any."""
        with self.flow.lock:
            others = self.flow.bytes - self.bytes
            if others and others + size > self.flow.max_bytes:
                raise _come_back(f"{others} bytes are in work")
            self.flow.bytes = others + size
            self.bytes = size


async def off_loop(size: int, work: Callable[[], _T]) -> _T:
    """Does work on a body of that size; large ones in a thread, so that the event loop stays live."""
    return work() if size <= OFF_LOOP_BYTES else await asyncio.to_thread(work)


async def read(request: Request, share: Share, limit: int) -> tuple[bytes, int]:
    """A request's body, unpacked, and how many bytes it had when it was sent. Raises Refused."""
    encoding = encoding_of(request.headers.get("content-encoding"))
    sent = await receive(request.stream(), limit, share.hold)
    if encoding == "identity":
        return sent, len(sent)
    # What is sent in an eighth of the size is common, and the bound that counts is that of what comes out.
    body = await off_loop(len(sent) * 8, partial(decompress, sent, encoding, limit, share.hold))
    share.hold(len(body))
    return body, len(sent)


def _come_back(why: str) -> Refused:
    return Refused(503, "busy", f"{why}: send it again a little later", {"Retry-After": str(RETRY_SECONDS)})
