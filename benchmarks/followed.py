"""L2: many live clients of one run: how soon they have its events, and what they cost.

`PLAYHEAD_BENCH_SECONDS` and `PLAYHEAD_BENCH_CLIENTS` make shorter variants for development.
"""

import asyncio
import os
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
import psutil

from benchmarks.collector import BenchCollector, collector
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, encode_pack
from tests.support.bar import Row, at_most, percentile, told
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed, send

_SECONDS = min(float(os.environ.get("PLAYHEAD_BENCH_SECONDS", "10")), 10.0)
# One client and many, in turn: what else the machine does meanwhile changes how often a run is projected.
_PAIRS = 3
_CLIENTS = int(os.environ.get("PLAYHEAD_BENCH_CLIENTS", "500"))
_EVENTS_PER_S, _EVENTS_PER_STEP = 100, 6
_PATIENCE = 120.0
# An idle connection of Postgres reports its transactions up to a second late.
_FIGURES_LAG_S = 1.2
_ENV = {"PLAYHEAD_MAX_CONNECTIONS_PER_CLIENT": "1000", "PLAYHEAD_MAX_STREAMS": "1000"}
_TRANSACTIONS = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"


@dataclass
class _Growing:
    """A run that grows by 100 events per second. `acknowledged`: when each step was, by the id of its last span."""

    url: str
    run: MadeUpRun
    acknowledged: dict[str, float] = field(default_factory=dict[str, float])

    def grow(self, seconds: float) -> None:
        tick = _EVENTS_PER_STEP / _EVENTS_PER_S
        due = time.perf_counter()
        until = due + seconds
        with httpx.Client(base_url=self.url, timeout=_PATIENCE, trust_env=False) as http:
            while due < until:
                spans, content = self.run.step()
                post_packed(http, "/v1/content", packed(encode_pack(content)), PACK)
                post_packed(http, "/v1/traces", packed(traces_request(spans)), PROTOBUF)
                self.acknowledged[spans[-1].span_id] = time.perf_counter()
                due += tick
                time.sleep(max(0.0, due - time.perf_counter()))


@dataclass
class _Follower:
    """A live client: when it got the last event of each step."""

    received: dict[str, float] = field(default_factory=dict[str, float])
    events: int = 0

    async def follow(self, url: str, run: str) -> None:
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1 << 20)
        head = f"GET /api/v1/runs/{run}/events HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n"
        writer.write(head.encode())
        try:
            while data := await reader.read(1 << 20):
                now = time.perf_counter()
                self.events += data.count(b'"late":')
                for part in data.split(b'"kind":"tool_completed"')[1:]:
                    _, _, rest = part.partition(b'"span":"')
                    if rest:
                        self.received.setdefault(rest[:16].decode(), now)
        finally:
            writer.close()


@dataclass(frozen=True, slots=True)
class _Followed:
    """What followers of a run got, and what the collector used meanwhile."""

    delays_ms: Sequence[float]
    transactions_per_step: float
    """Not per second: when the machine is busy, a step takes longer."""
    memory_bytes: int
    missed: int


def measure() -> Iterator[Row]:
    """A run that grows by 100 events per second, with one client and with many."""
    with collector(_ENV) as at:
        pairs = [tuple(asyncio.run(_followed(at, clients)) for clients in (1, _CLIENTS)) for _ in range(_PAIRS)]
    alone, crowd = zip(*pairs, strict=True)
    p95_alone, p95_crowd = (
        percentile([delay for each in measured for delay in each.delays_ms], 0.95) for measured in (alone, crowd)
    )
    against = f"{_CLIENTS} clients, 100 events/s for {_SECONDS:.0f} s, {_PAIRS} times; one client: {p95_alone:.0f} ms"
    yield at_most("L2", "acknowledged to live client, p95", p95_crowd, 500, unit="ms", against=against)
    missed = sum(each.missed for each in (*alone, *crowd))
    yield at_most("L2", "events that a client missed", missed, 0, unit="", against=against)
    ratios = [many.transactions_per_step / one.transactions_per_step for one, many in pairs]
    yield at_most(
        "L2",
        "transactions per step ÷ with one client",
        statistics.median(ratios),
        1.2,
        unit="x",
        against=f"median of {', '.join(f'{ratio:.2f}' for ratio in ratios)}",
    )
    each = (crowd[0].memory_bytes - alone[0].memory_bytes) / (_CLIENTS - 1) / 1024
    yield told(
        "L2", "memory of the collector per client", each, unit="kB", against="its connection; messages are shared"
    )


async def _followed(at: BenchCollector, clients: int) -> _Followed:
    run = MadeUpRun(3, live=True)
    await asyncio.to_thread(send, at.url, [run])
    at.client.run(run.run)
    followers = [_Follower() for _ in range(clients)]
    tasks: list[asyncio.Task[None]] = []
    for start in range(0, clients, 25):
        group = followers[start : start + 25]
        tasks += [asyncio.create_task(each.follow(at.url, run.run)) for each in group]
        while not all(each.events for each in group):
            await asyncio.sleep(0.05)
    growing = _Growing(at.url, run)
    await asyncio.sleep(_FIGURES_LAG_S)  # else the figures count the connecting of these clients as following
    before = await asyncio.to_thread(at.number, _TRANSACTIONS)
    thread = threading.Thread(target=growing.grow, args=(_SECONDS,))
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.1)
    last = list(growing.acknowledged)[-1]
    deadline = time.perf_counter() + _PATIENCE
    while not all(last in each.received for each in followers) and time.perf_counter() < deadline:
        await asyncio.sleep(0.05)
    await asyncio.sleep(_FIGURES_LAG_S)
    transactions = await asyncio.to_thread(at.number, _TRANSACTIONS) - before
    memory = psutil.Process(at.pid).memory_info().rss
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    delays = [
        max(0.0, each.received[span] - acknowledged) * 1e3
        for each in followers
        for span, acknowledged in growing.acknowledged.items()
        if span in each.received
    ]
    missed = len(followers) * len(growing.acknowledged) - len(delays)
    return _Followed(delays, transactions / len(growing.acknowledged), memory, missed)
