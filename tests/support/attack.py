"""Sends hostile requests to a collector, and watches it meanwhile: answers, memory, probes, and whether it lives."""

import asyncio
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.support.hostile import Hostile
from tests.support.hostile.grpc_calls import ObservedCalls

# An analysis question may wait 30 s for its turn, and then take 30 s.
_ANSWER_SECONDS = 120
_ROOT = Path(__file__).parents[2]


@dataclass
class Observed:
    """What was seen. `failed`: requests that were answered with 500; times in seconds."""

    sent: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    failed: list[Hostile] = field(default_factory=list[Hostile])
    unanswered: list[Hostile] = field(default_factory=list[Hostile])
    probes: list[float] = field(default_factory=list[float])
    peak_bytes: int = 0
    grpc: ObservedCalls = field(default_factory=ObservedCalls)

    def probe(self, share: float) -> float:
        """A percentile of the time that probes took."""
        ordered = sorted(self.probes)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def attack(
    port: int, pid: int, hostile: Iterator[Hostile], count: int, *, connections: int = 16, seconds: float = math.inf
) -> Observed:
    """Sends `count` requests, or as many as fit into `seconds`, over that many connections at a time, each of which
    goes on until it is closed."""
    seen = Observed()
    until = asyncio.get_running_loop().time() + seconds
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", "tests.support.probe", str(port)]
    prober = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=_ROOT)
    measuring = asyncio.create_task(_measure(pid, seen))
    try:
        await asyncio.gather(*(_send(port, hostile, count, until, seen) for _ in range(connections)))
    finally:
        measuring.cancel()
        said, _ = await prober.communicate(b"\n")
    assert prober.returncode == 0
    seen.probes = json.loads(said)
    return seen


async def _send(port: int, hostile: Iterator[Hostile], count: int, until: float, seen: Observed) -> None:
    clock = asyncio.get_running_loop().time
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    try:
        while seen.sent < count and clock() < until:
            seen.sent += 1
            request = next(hostile)
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    writer.write(request.data)
                    status, keep = await _answer(reader, request.data.startswith(b"HEAD"))
            except (ConnectionError, asyncio.IncompleteReadError):
                status, keep = "closed", False
            except TimeoutError:
                seen.unanswered.append(request)
                status, keep = "none", False
            seen.statuses[status] += 1
            if status == "500":
                seen.failed.append(request)
            # What is no HTTP may leave the connection waiting for more.
            if not keep or request.kind == "no http":
                writer.transport.abort()
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    finally:
        writer.transport.abort()


async def _answer(reader: asyncio.StreamReader, is_head: bool) -> tuple[str, bool]:
    first = await reader.readexactly(5)
    if first != b"HTTP/":
        await reader.read()
        return "frames", False
    head = (first + await reader.readuntil(b"\r\n\r\n")).lower()
    status = head.split(b" ", 2)[1].decode()
    if b"text/event-stream" in head:  # without an end: its client goes away
        return "200, a stream", False
    size = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), None)
    if is_head or status in {"204", "304"}:
        return status, b"connection: close" not in head
    if size is None:
        chunk = 1
        while chunk:
            chunk = int((await reader.readuntil(b"\r\n")).strip(), 16)
            await reader.readexactly(chunk + 2)
    else:
        await reader.readexactly(size)
    return status, b"connection: close" not in head


async def _measure(pid: int, seen: Observed) -> None:
    process = psutil.Process(pid)
    while True:
        seen.peak_bytes = max(seen.peak_bytes, process.memory_info().rss)
        await asyncio.sleep(0.05)
