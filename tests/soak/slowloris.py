"""Clients that send heads and bodies byte by byte, on HTTP and gRPC, while an honest one sends spans."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx

from playhead.outbound.otlp import traces_request
from playhead_collector.process import CollectorProcess
from tests.soak.conditions import Conditions
from tests.support.bar import Row, at_least, at_most, percentile
from tests.support.made_up_runs import PROTOBUF, MadeUpRun
from tests.support.slow_grpc import slow_senders

_SECONDS, _SLOW = 120, 200
_HEAD = (
    b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100000\r\n"
)


def measure(conditions: Conditions) -> Iterator[Row]:
    """Requests of the honest client that failed, and their time."""
    seconds = conditions.count(_SECONDS)
    with CollectorProcess() as collector:
        times, failures, refused = asyncio.run(_both(collector, seconds))
    against = f"{_SLOW} slow connections each on HTTP and gRPC, {seconds} s; {refused} were closed"
    yield at_least("slowloris", "honest requests", len(times), seconds, unit="", against=against)
    yield at_most("slowloris", "honest requests that failed", failures, 0, unit="", against="")
    yield at_most("slowloris", "honest requests, p99", percentile(times, 0.99) * 1e3, 500, unit="ms", against="")


async def _both(collector: CollectorProcess, seconds: float) -> tuple[list[float], int, int]:
    port, grpc = (urlsplit(url).port or 0 for url in (collector.url, collector.grpc_url or ""))
    closed = [0]
    # 16: the honest client shares the address, whose connections are limited.
    async with slow_senders(grpc, 16, seconds_per_byte=0.5), _slow_http(port, _SLOW, closed):
        return *await _honest(collector.url, seconds), closed[0]


@asynccontextmanager
async def _slow_http(port: int, count: int, closed: list[int]) -> AsyncGenerator[None]:
    senders = [asyncio.create_task(_trickle(port, number % 2 == 0, closed)) for number in range(count)]
    try:
        yield
    finally:
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)


async def _trickle(port: int, is_head: bool, closed: list[int]) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            if not is_head:
                writer.write(_HEAD + b"\r\n")
            for byte in _HEAD if is_head else b"x" * 100_000:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.5)
        except OSError:
            closed[0] += 1
            await asyncio.sleep(0.1)


async def _honest(url: str, seconds: float) -> tuple[list[float], int]:
    times, failures, until = list[float](), 0, time.monotonic() + seconds
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as http:
        while time.monotonic() < until:
            body, began = traces_request(MadeUpRun(2).spans), time.monotonic()
            try:
                answer = await http.post("/v1/traces", content=body, headers={"content-type": PROTOBUF})
                failures += answer.status_code != 200
            except httpx.HTTPError:
                failures += 1
            times.append(time.monotonic() - began)
            await asyncio.sleep(0.05)
    return times, failures
