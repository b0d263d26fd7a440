"""Ingest and projection of the same runs at the same time: nobody waits for each other in a circle."""

import asyncio

import asyncpg

from playhead.model.canonical import content_of
from playhead.projection.inputs import Projection
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import P, events, row, run_number, span

_ROUNDS, _RUNS = 40, 4


async def test_spans_that_wait_for_content_and_their_projection_do_not_deadlock(
    store: PostgresStore, sql: asyncpg.Connection
):
    """A projection settles what its run waits for while ingest adds to that, and both tell of the run's news."""

    async def arrive(number: int) -> None:
        for turn in range(_ROUNDS):
            late = content_of(f"{number % _RUNS} {turn}")
            run = run_number(number % _RUNS)
            spans = [span(turn * 10 + number, run=run, INPUT_REF=late.ref)]
            await store.spans.ingest(P, Batch(spans=spans))
            await store.spans.ingest(P, Batch(contents=[late]))

    async def project(number: int) -> None:
        for _ in range(_ROUNDS):
            async with store.projections.locked_run(P, run_number(number)) as work:
                if work is not None:
                    work.result = Projection(events(3, run=run_number(number)), row(run_number(number)))

    before = await sql.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    await asyncio.gather(*map(arrive, range(2 * _RUNS)), *map(project, range(_RUNS)))
    await sql.execute("select pg_stat_force_next_flush()")
    after = await sql.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    assert after == before
