"""Q1, Q2, A1: how fast a collector answers about long runs, over HTTP and without it, and about many runs."""

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import asyncpg
import httpx

from benchmarks.collector import BenchCollector, collector
from playhead_collector.projection import ProjectionRunner
from playhead_collector.read.context import answer_context
from playhead_collector.read.prices import shipped
from playhead_collector.read.record import RunRecord, open_record
from playhead_collector.read.state import answer_state
from playhead_collector.serve.responses import json_answer
from playhead_collector.store.postgres.store import connect
from tests.support.bar import ROUNDS, Row, at_most, median, percentile, told
from tests.support.made_up_runs import MadeUpRun, send
from tests.support.many_runs.inserted import CALLS, FILL, RUNS

_QUESTIONS = 200
_WARM_UP = 20
# A model call, its end, what it added, a tool call and its end.
_EVENTS_PER_STEP = 6
_LONG_THREAD = 1_000


def measure() -> Iterator[Row]:
    chance = random.Random(7)
    with collector() as at:
        for events, limit_ms in ((5_000, 20), (100_000, 100)):
            run = _stored_run(at, events)
            last = at.client.run(run)["events"]
            seqs = [chance.randint(1, last) for _ in range(_QUESTIONS)]
            over, inside = _asked(at, run, "state", seqs)
            against = f"{_QUESTIONS} random seqs of {last:,} events"
            yield at_most("Q1", f"state, {events:,} events, p99", over, limit_ms, unit="ms", against=f"HTTP; {against}")
            yield told("Q1", "the same in process", inside, unit="ms", against="from the store to the answer's bytes")
            if events == 5_000:
                yield from _q2(at, run)


def measure_across() -> Iterator[Row]:
    """A1: questions across 10,000 runs with 100,000 tool calls, over HTTP, each answered by a process of its own."""
    with collector() as at:
        asyncio.run(_fill(at.database))
        against = f"median of {ROUNDS} over HTTP; {RUNS:,} runs, {RUNS * CALLS:,} tool calls"
        took = median(partial(_seconds, at.client.statistics))
        yield at_most("A1", "statistics across runs", took, 2, unit="s", against=against)
        for name in ("transitions", "patterns", "differences"):
            took = median(partial(_seconds, getattr(at.client, name)))
            yield told("A1", f"{name} across runs", took, unit="s", against=against)


async def _fill(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute(FILL)
    await connection.close()


def _seconds(ask: Callable[..., Any]) -> float:
    began = time.perf_counter()
    ask(agent="support", outcome="resolved")
    return time.perf_counter() - began


def _stored_run(at: BenchCollector, events: int) -> str:
    run = MadeUpRun(events // _EVENTS_PER_STEP)
    send(at.url, [run])
    at.wait_sealed([run.run])
    at.wait_indexed()  # what is asked about is a record at rest
    return run.run


def _q2(at: BenchCollector, run: str) -> Iterator[Row]:
    calls = [call["seq"] for call in at.client.llm_calls(run) if abs((call["messages"] or 0) - _LONG_THREAD) < 20]
    seqs = [calls[number % len(calls)] for number in range(_QUESTIONS)]
    over, inside = _asked(at, run, "context", seqs)
    against = f"HTTP; {len(calls)} calls with about {_LONG_THREAD:,} messages"
    yield at_most("Q2", "context, 1,000 messages, p99", over, 50, unit="ms", against=against)
    yield told("Q2", "the same in process", inside, unit="ms", against="from the store to the answer's bytes")


def _asked(at: BenchCollector, run: str, what: str, seqs: list[int]) -> tuple[float, float]:
    """p99 in ms over HTTP, and in process; each the median of several rounds."""
    with httpx.Client(base_url=at.url, timeout=60, trust_env=False) as http:

        def ask(seq: int) -> float:
            began = time.perf_counter()
            http.get(f"/api/v1/runs/{run}/{what}", params={"at": seq}).raise_for_status()
            return time.perf_counter() - began

        for seq in seqs[:_WARM_UP]:
            ask(seq)
        over = median(lambda: percentile([ask(seq) for seq in seqs], 0.99))
    rounds = asyncio.run(_inside(at, run, what, seqs))
    inside = statistics.median(percentile(times, 0.99) for times in rounds)
    return over * 1e3, inside * 1e3


async def _inside(at: BenchCollector, run: str, what: str, seqs: list[int]) -> list[list[float]]:
    gc.collect()
    gc.freeze()  # what was made to be sent is not the collector's, and would be looked through again and again
    answer: Callable[..., Awaitable[Any]] = _state if what == "state" else answer_context
    store = await connect(at.database, pool_size=2)
    try:
        runner = ProjectionRunner(store.projections, clock=time.time_ns, seal_after_s=30)

        async def ask(seq: int) -> float:
            began = time.perf_counter()
            json_answer(await answer(await open_record(store, runner, 1, run), str(seq)))
            return time.perf_counter() - began

        for seq in seqs[:_WARM_UP]:
            await ask(seq)
        return [[await ask(seq) for seq in seqs] for _ in range(ROUNDS)]
    finally:
        await store.close()


async def _state(record: RunRecord, at: str) -> Any:
    return await answer_state(record, at, False, shipped())
