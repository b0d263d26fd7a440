"""Limits the number and the memory of requests that [receive] processes at a time.

    full? → body arrives (body.py) → admitted → its turn (project_turns.py): unpacked, decoded, stored

Requests in progress take memory, which would grow without limit if the database is slower than its senders. Beyond the
limits a sender gets a 503 with Retry-After, after which OTLP clients retry with growing delays.
A request is admitted when its body has arrived completely: until then, the time depends on its sender.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from fastapi import Request

from playhead_collector.access import FIRST_PROJECT, access_of
from playhead_collector.project_turns import ProjectTurns
from playhead_collector.receive.body import check_length, decompress, encoding_of, receive
from playhead_collector.receive.transfer_budget import RETRY_SECONDS, TransferBudget, try_later
from playhead_collector.settings import KIB, MIB

__all__ = ["OFF_LOOP_BYTES", "RETRY_SECONDS", "AdmittedRequest", "RequestLimiter", "off_loop"]

# Above this, decoding a body takes milliseconds, in which the event loop would answer no other request.
OFF_LOOP_BYTES = 64 * KIB
# Two: one decompresses (which releases the GIL) while the other decodes (which does not). With more of them, the
# event loop would wait for each of them to release the GIL.
_WORKERS = ThreadPoolExecutor(2, "playhead-receive")

_T = TypeVar("_T")


@dataclass(slots=True)
class RequestLimiter:
    """Admits requests up to a number of requests and a total size of decompressed bodies in bytes. `turns`: those that
    were admitted are worked on in turn.

    One project may have `max_requests` in progress. Others have a quarter of that besides, so that they are not refused
    because of it.
    """

    max_requests: int
    max_bytes: int
    max_reading_bytes: int = 64 * MIB
    body_seconds: float = 60.0
    turns: ProjectTurns = field(default_factory=lambda: ProjectTurns(10))
    by_project: Counter[int] = field(default_factory=Counter[int], init=False)
    bytes: int = field(default=0, init=False)
    reading: TransferBudget = field(init=False)
    # Decompression reports its memory from another thread.
    lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.reading = TransferBudget(self.max_reading_bytes)

    @property
    def requests(self) -> int:
        """The number of requests in progress."""
        return self.by_project.total()

    def is_full(self, project_id: int | None = None) -> bool:
        """Whether one more request of the project would be refused; None: of any project."""
        return self.requests >= self.max_requests + self.max_requests // 4 or (
            project_id is not None and self.by_project[project_id] >= self.max_requests
        )

    @asynccontextmanager
    async def take(self, request: Request, limit: int) -> "AsyncGenerator[AdmittedRequest]":
        """Reads a request's body without decompressing it, and admits the request. Raises Refused."""
        encoding = encoding_of(request.headers.get("content-encoding"))
        check_length(request.headers.get("content-length"), limit)
        project_id = access_of(request).project_id
        if self.is_full(project_id):  # before the body is read, so that no megabytes are sent in vain
            raise try_later(f"{self.requests} requests are in work")
        with self.reading.one() as arriving:
            sent = await receive(request.stream(), limit, arriving, body_seconds=self.body_seconds)
        with self.admit(project_id) as share:
            share.hold(len(sent))
            share.sent, share.encoding, share.limit = sent, encoding, limit
            del sent  # the admitted request frees it after decompression
            yield share

    @contextmanager
    def admit(self, project_id: int = FIRST_PROJECT) -> "Generator[AdmittedRequest]":
        """Admits one request of a project until the block ends. Raises Refused: 503 with Retry-After when there is no
        room."""
        if self.is_full(project_id):
            raise try_later(f"{self.requests} requests are in work")
        self.by_project[project_id] += 1
        share = AdmittedRequest(self)
        try:
            yield share
        finally:
            self.by_project[project_id] -= 1
            if not self.by_project[project_id]:
                del self.by_project[project_id]
            with self.lock:
                self.bytes -= share.bytes


@dataclass(slots=True)
class AdmittedRequest:
    """A request in progress, and the memory that it counts for."""

    flow: RequestLimiter
    bytes: int = 0
    sent: "bytes" = b""
    encoding: str = "identity"
    limit: int = 0

    def hold(self, size: int) -> None:
        """Sets the bytes that this request holds. Raises Refused (503) without room, unless no other request holds any
        bytes."""
        with self.flow.lock:
            others = self.flow.bytes - self.bytes
            if others and others + size > self.flow.max_bytes:
                raise try_later(f"{others} bytes are in work")
            self.flow.bytes = others + size
            self.bytes = size

    async def body(self) -> "tuple[bytes, int]":
        """The decompressed body, and its size in bytes as sent. Call it only once. Raises Refused."""
        sent, self.sent = self.sent, b""
        if self.encoding == "identity":
            return sent, len(sent)
        # Bodies are often compressed to an eighth, and the limit is on the decompressed size.
        unpack = partial(decompress, sent, self.encoding, self.limit, self.hold)
        body = await off_loop(len(sent) * 8, unpack)
        self.hold(len(body))
        return body, len(sent)


async def off_loop(size: int, work: Callable[[], _T]) -> _T:
    """Runs `work` on a body of `size` bytes; for large bodies in a thread, so that the event loop stays responsive."""
    if size <= OFF_LOOP_BYTES:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_WORKERS, work)
