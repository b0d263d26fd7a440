"""Races of writers, forks, deletion and forgetting against sweeps, and sweeps that are killed in each of their phases.

`python -m tests.soak --only races` makes 1,000.
"""

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from playhead.model.canonical import content_of
from playhead_collector.store.ports.forgetting import Selector
from playhead_collector.store.postgres.erasing import BELIEVED_NS
from playhead_collector.store.postgres.garbage import SweepPhase
from playhead_collector.store.postgres.store import connect
from tests.integration.emptied import emptied_afterwards
from tests.integration.store.making import Clock, P, ref_of, run_number, thread
from tests.integration.store.test_forgetting import record
from tests.integration.store.test_sweep import DAY_NS, pack, stored, texts_of
from tests.support.races.race import Race, RaceClock

RACES = 4


@pytest.mark.parametrize("seed", range(RACES))
async def test_nothing_that_is_named_is_lost_and_what_was_forgotten_is_gone(module_database_url: str, seed: int):
    clock = RaceClock()
    async with emptied_afterwards(module_database_url):
        stores = [await connect(module_database_url, pool_size=6, clock=clock) for _ in range(2)]
        race = Race(stores, clock, seed)
        try:
            assert await race.run() == []
        finally:
            for store in stores:
                await store.close()
    assert race.counts["sent"] == 2 * race.sends


@pytest.mark.parametrize("killed_in", [*SweepPhase], ids=lambda phase: phase.name.lower())
async def test_a_sweep_whose_connection_is_killed_in_a_step_goes_on_and_loses_nothing(
    module_database_url: str, killed_in: SweepPhase
):
    """As after SIGKILL of the collector: Postgres rolls the step back, and another collector makes it again."""
    clock = Clock()
    async with emptied_afterwards(module_database_url) as sql:
        store = await connect(module_database_url, pool_size=4, clock=clock)
        own, shared, kept = content_of("own"), content_of("shared"), thread("a", "b")
        made = thread("a", "b", "only u1")
        await record(store, run_number(1), [own, shared, *texts_of("a", "b", "only u1")], made, user="u1")
        await record(store, run_number(2), [shared, *texts_of("a", "b")], kept, user="u2")
        await pack(store, run_number(1), run_number(2))
        clock.days_pass(1.1)
        await record(store, run_number(3), [content_of("row of u1"), shared], user="u1")
        clock.days_pass(1.1)
        job = uuid4()
        await store.forgetting.begin(
            P, job, Selector("user", "u1"), forks=False, requested_by=None, hold_ns=BELIEVED_NS
        )
        while await store.forgetting.step(P, job):
            pass
        phase = (await store.garbage.sweep_step(P, DAY_NS)).phase
        while phase is not None and phase != killed_in.name.lower():
            phase = (await store.garbage.sweep_step(P, DAY_NS)).phase
        assert phase == killed_in.name.lower()
        await kill_in_a_step(store_step=store.garbage.sweep_step(P, DAY_NS), sql=sql)
        await store.close()
        other = await connect(module_database_url, pool_size=4, clock=clock)
        while (await other.garbage.sweep_step(P, DAY_NS)).phase is not None:
            pass
        await other.forgetting.step(P, job)
        [done] = await other.forgetting.jobs(P, job, 1)
        assert done.phase == "done"
        assert await stored(other, [own.ref, content_of("row of u1").ref, shared.ref]) == {shared.ref}
        assert len(await other.contents.thread(P, ref_of(kept))) == 2
        assert len(await stored(other, [each.ref for each in texts_of("a", "b")])) == 2
        await other.close()


async def kill_in_a_step(store_step: "asyncio.Future[object] | object", sql: asyncpg.Connection) -> None:
    """Holds the step before its last statement, by a lock on the sweep's row, and kills its connection there."""
    async with sql.transaction():
        await sql.execute("select from gc_sweep for update")
        step = asyncio.ensure_future(store_step)  # type: ignore[arg-type]
        while not (waiting := await sql.fetch(
            "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
            "and cardinality(pg_blocking_pids(pid)) > 0"
        )):  # fmt: skip
            await asyncio.sleep(0.01)
            assert not step.done()
        for row in waiting:
            # Until it is gone, it holds the locks of the step, and nobody else can make one.
            assert await sql.fetchval("select pg_terminate_backend($1, 60000)", row["pid"])
    results = await asyncio.gather(step, return_exceptions=True)
    assert isinstance(results[0], Exception)
