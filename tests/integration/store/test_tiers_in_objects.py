"""With an object store, packs of warm runs and records of cold runs are there, and are read as before."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from playhead_collector.errors import ObjectStoreUnavailable
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.retain.retainer import Retainer
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.ports.tiers import Tier
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import Clock, P
from tests.integration.store.test_tiers import named, record_of, set_policy, settle, store_runs, tier_of, with_bulk
from tests.support.faulty_objects import FaultyObjects
from tests.support.made_up_runs import MadeUpRun

ALL = {"default": {"hot": "7d", "warm": "30d", "cold": "1y", "archive": "2y"}}


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now_ns = MadeUpRun(1).spans[0].start_ns + 3_600 * 10**9
    return clock


@pytest.fixture
def objects(tmp_path: Path) -> FaultyObjects:
    return FaultyObjects(open_object_store(f"file://{tmp_path}/objects", 10))


@pytest.fixture
async def store(
    module_database_url: str, clock: Clock, sql: asyncpg.Connection, objects: FaultyObjects
) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=6, clock=clock, objects=objects)
    yield store
    await sql.execute("update project set retention = null")
    await store.close()


async def retain(store: PostgresStore, clock: Clock) -> None:
    await Retainer(store.tiers, wall_ns=clock, objects=store.moves).run_once()
    times = iter(range(0, 10**9, 10_000))
    mover = ObjectMover(
        store.moves, store.objects, least_bytes=10**9, grace_s=0, wait_s=0, clock=lambda: float(next(times))
    )
    for _ in range(5):
        await mover.run_once()


async def test_warm_and_cold_runs_read_as_before(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock, objects: FaultyObjects
):
    runs = [with_bulk(MadeUpRun(3)), with_bulk(MadeUpRun(40))]
    await store_runs(store, clock, runs)
    before = [await record_of(store, run) for run in runs]
    await set_policy(store, ALL)
    clock.days_pass(8)
    await retain(store, clock)
    assert [await tier_of(store, run) for run in runs] == [Tier.WARM, Tier.WARM]
    assert await sql.fetchval("select count(*) from content_pack where body is not null and outline is null") == 0
    assert await sql.fetchval("select count(*) from content_pack where object is not null") > 0
    for each, record in zip(runs, before, strict=True):
        assert await record_of(other_store, each) == record
        assert (await other_store.contents.get_many(P, list(each.contents))).keys() >= named(each)
    clock.days_pass(30)
    await retain(store, clock)
    assert [await tier_of(store, run) for run in runs] == [Tier.COLD, Tier.COLD]
    assert await sql.fetchval("select count(*) from packed_run where body is null and object is not null") == 2
    for each, record in zip(runs, before, strict=True):
        assert await record_of(other_store, each) == record
    clock.days_pass(3)
    await Sweeper(store.garbage, grace_s=86_400, tombstone_s=1e9).run_once()
    for each in runs:
        assert (await other_store.contents.get_many(P, list(each.contents))).keys() >= named(each)
    clock.days_pass(400)
    await retain(store, clock)
    assert [await tier_of(store, run) for run in runs] == [Tier.ARCHIVE, Tier.ARCHIVE]
    clock.days_pass(3)
    await Sweeper(store.garbage, grace_s=86_400, tombstone_s=1e9).run_once()
    await retain(store, clock)
    assert await sql.fetchval("select count(*) from content_pack") == 0
    assert len(await objects.keys()) == 1  # of both records in the archive


async def test_late_spans_bring_a_record_back_from_the_object_store(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    run = MadeUpRun(4)
    late, run.spans = run.spans[-1], run.spans[:-1]
    await store_runs(store, clock, [run])
    before = await store.events.read(P, run.run)
    await set_policy(store, {"default": {"hot": "7d", "cold": "forever"}})
    clock.days_pass(8)
    await retain(store, clock)
    assert await sql.fetchval("select body from packed_run") is None
    await store.spans.ingest(P, Batch([late]))
    await settle(store, clock)
    after = await store.events.read(P, run.run)
    assert list(after[: len(before)]) == list(before)
    assert {event.span for event in after[len(before) :]} == {late.span_id}
    assert await sql.fetchval("select count(*) from packed_run") == 0
    await retain(store, clock)
    assert await sql.fetchval("select object is not null and body is null from packed_run")
    assert await store.events.read(P, run.run) == after


async def test_while_the_object_store_is_down_runs_stay_in_postgres_and_are_said_to_wait(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, objects: FaultyObjects
):
    run = MadeUpRun(4)
    await store_runs(store, clock, [run])
    before = await record_of(store, run)
    await set_policy(store, {"default": {"hot": "7d", "cold": "forever"}})
    clock.days_pass(8)
    objects.is_full = True
    with pytest.raises(ObjectStoreUnavailable):
        await Retainer(store.tiers, wall_ns=clock, objects=store.moves).run_once()
    assert await tier_of(store, run) == Tier.COLD
    assert await record_of(store, run) == before
    objects.is_full = False
    await retain(store, clock)
    assert await sql.fetchval("select body from packed_run") is None
    assert await record_of(store, run) == before
