"""I1F: what a destination costs ingest. Two collectors, one of which forwards all that it takes, are sent the same in
turn; the destination accepts everything, in a process of its own."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from benchmarks.collector import BenchCollector, collector
from benchmarks.ingest.taken import sent_in, wait_projected
from tests.support.bar import Row, at_least, told

# Rounds of seconds, since what arrives is forwarded from half a second on; many, since one differs from the next by a
# tenth even without a destination.
_PAIRS, _RUNS = 12, 1_000
_SPANS_PER_RUN = 21
_FORWARDED_WITHIN_SECONDS = 120.0
_ACCEPTS_ALL = """
import asyncio

async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\\r\\n")[1:] if line)
            await reader.readexactly(int(fields[b"content-length"]))
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def measure(pairs: int = _PAIRS, runs: int = _RUNS) -> Iterator[Row]:
    """Each is first in turn, since others may load the machine. Entries that a round leaves in the outbox are dropped
    before the next round, which has the machine for itself then; those of the last one are forwarded."""
    with _destination() as url, collector() as plain, collector({"PLAYHEAD_FORWARD_PHOENIX_URL": url}) as forwarding:
        seconds: dict[BenchCollector, list[float]] = {plain: [], forwarding: []}
        for number in range(pairs):
            for at in (plain, forwarding) if number % 2 else (forwarding, plain):
                seconds[at].append(sent_in(at, runs))
                _wait_projected(at)
                if at is forwarding and number < pairs - 1:
                    _drop_entries(at)
        _wait_forwarded(forwarding)
    spans = runs * _SPANS_PER_RUN
    with_it, without = (statistics.median(spans / each for each in seconds[at]) for at in (forwarding, plain))
    ratio = statistics.median(one / other for one, other in zip(seconds[plain], seconds[forwarding], strict=True))
    against = f"{with_it:,.0f} ÷ {without:,.0f} spans/s, {pairs} pairs of {spans:,} spans"
    yield at_least("I1F", "spans taken with a destination ÷ without", ratio, 0.95, unit="x", against=against)
    yield told("I1F", "spans taken with a destination", with_it, unit="spans/s", against="Phoenix's vocabulary, full")


@contextmanager
def _destination() -> Iterator[str]:
    server = subprocess.Popen([sys.executable, "-c", _ACCEPTS_ALL], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def _wait_projected(at: BenchCollector) -> None:
    with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
        wait_projected(http)


def _drop_entries(at: BenchCollector) -> None:
    """Returns when nothing is under way either."""
    for destination in at.client.destinations()["items"]:
        at.client.drop_forward(destination["name"], waiting=True)
    sent = -1
    while sent != (sent := sum(each["sent_spans"] for each in at.client.destinations()["items"])):
        time.sleep(0.5)


def _wait_forwarded(at: BenchCollector) -> None:
    deadline = time.monotonic() + _FORWARDED_WITHIN_SECONDS
    with at.asking() as number:
        while number("select count(*) from forward_outbox"):
            if time.monotonic() > deadline:
                raise TimeoutError("not all is forwarded")
            time.sleep(0.1)
