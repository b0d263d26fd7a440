"""A pass of retention that is killed at any of its steps: nothing that is named is lost, and nothing is done twice."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import asyncpg
import pytest

from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.retain.retainer import Retainer
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.tiers import Tier
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import Clock, P
from tests.integration.store.test_tiers import named, record_of, set_policy, store_runs, with_bulk
from tests.support.database_sessions import sessions_of_stores, wait_for_end_of_sessions
from tests.support.made_up_runs import MadeUpRun

KILLED = -9
WAITS = """
    select count(*) from pg_locks where not granted and relation = $1::regclass
    and database = (select oid from pg_database where datname = current_database())
"""
POLICIES = {
    Tier.WARM: {"default": {"hot": "1d", "warm": "forever"}},
    Tier.COLD: {"default": {"hot": "1d", "cold": "forever"}},
    Tier.ARCHIVE: {"default": {"hot": "1d", "archive": "forever"}},
    Tier.DELETED: {"default": {"hot": "1d"}},
}


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now_ns = MadeUpRun(1).spans[0].start_ns + 3_600 * 10**9
    return clock


async def start(dsn: str, clock: Clock, folder: Path, call: str = "-", when: str = "-") -> asyncio.subprocess.Process:
    arguments = [dsn, str(clock.now_ns), str(folder), call, when]
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.support.killed_retainer", *arguments)


async def go_on(store: PostgresStore, clock: Clock) -> None:
    """The next pass, of another collector, with the mover that deletes bodies which the object store has."""
    retainer = Retainer(store.tiers, wall_ns=clock, objects=store.moves)
    await retainer.run_once()
    times = iter(range(0, 10**9, 10_000))
    mover = ObjectMover(
        store.moves, store.objects, least_bytes=10**9, grace_s=0, wait_s=0, clock=lambda: float(next(times))
    )
    for _ in range(5):
        await mover.run_once()
    assert mover.problem is None


@pytest.mark.parametrize(
    ("tier", "table"),
    [
        (Tier.WARM, "run"), (Tier.WARM, "removal"), (Tier.WARM, "content_pack"), (Tier.WARM, "stored_object"),
        (Tier.COLD, "search_run"), (Tier.COLD, "span_page"), (Tier.COLD, "packed_run"), (Tier.COLD, "run"),
        (Tier.COLD, "removal"), (Tier.ARCHIVE, "packed_run"), (Tier.ARCHIVE, "run_tombstone"),
        (Tier.ARCHIVE, "sweep_due"), (Tier.ARCHIVE, "removal"), (Tier.DELETED, "run_tombstone"),
        (Tier.DELETED, "removal"),
    ],
)  # fmt: skip
async def test_killed_while_it_writes_a_table(
    module_database_url: str, sql: asyncpg.Connection, clock: Clock, tmp_path: Path, tier: Tier, table: str
):
    folder = tmp_path / "objects"
    store = await connect(
        module_database_url, pool_size=4, clock=clock, objects=open_object_store(f"file://{folder}", 10)
    )
    runs = [with_bulk(MadeUpRun(3)) for _ in range(3)]
    await store_runs(store, clock, runs)
    before = {run.run: await record_of(store, run) for run in runs}
    await set_policy(store, POLICIES[tier])
    clock.days_pass(2)
    ours = await sessions_of_stores(sql)
    async with sql.transaction():
        await sql.execute(f"lock table {table} in share mode")  # others read it, and wait when they write
        program = await start(module_database_url, clock, folder)
        while not await sql.fetchval(WAITS, table):
            assert program.returncode is None
            await asyncio.sleep(0.02)
        program.kill()
        assert await program.wait() == KILLED
    await wait_for_end_of_sessions(sql, but=ours)
    for run in runs:
        row = await store.runs.get(P, run.run)
        assert row is not None
        assert await record_of(store, run) == before[run.run]
        assert (await store.contents.get_many(P, list(run.contents))).keys() >= named(run)

    await go_on(store, clock)
    moved = Counter(run for each in await store.tiers.removals(P, limit=100) for run in each.runs)
    assert moved == Counter(run.run for run in runs)
    for run in runs:
        row = await store.runs.get(P, run.run)
        if tier is Tier.DELETED:
            assert row is None
            continue
        assert row is not None
        assert row.tier == tier
        if tier is not Tier.ARCHIVE:
            assert await record_of(store, run) == before[run.run]
        assert (await store.contents.get_many(P, list(run.contents))).keys() >= named(run)
    assert await sql.fetchval("select count(*) from packed_run where body is not null") == 0
    assert await store.objects.unknown_keys() == []
    await sql.execute("update project set retention = null")
    await store.close()


@pytest.mark.parametrize("tier", [Tier.WARM, Tier.COLD])
@pytest.mark.parametrize(("call", "when"), [("put", "before"), ("put", "after"), ("get", "before"), ("get", "after")])
async def test_killed_at_the_object_store(
    module_database_url: str, sql: asyncpg.Connection, clock: Clock, tmp_path: Path, tier: Tier, call: str, when: str
):
    folder = tmp_path / "objects"
    store = await connect(
        module_database_url, pool_size=4, clock=clock, objects=open_object_store(f"file://{folder}", 10)
    )
    run = with_bulk(MadeUpRun(5))
    await store_runs(store, clock, [run])
    before = await record_of(store, run)
    await set_policy(store, POLICIES[tier])
    clock.days_pass(2)
    ours = await sessions_of_stores(sql)
    assert await (await start(module_database_url, clock, folder, call, when)).wait() == KILLED
    await wait_for_end_of_sessions(sql, but=ours)
    assert await record_of(store, run) == before
    assert (await store.contents.get_many(P, list(run.contents))).keys() >= named(run)
    await sql.execute("update stored_object set changed = changed - interval '2 hours'")
    await go_on(store, clock)
    assert await sql.fetchval("select count(*) from content_pack where body is not null and outline is null") == 0
    assert await sql.fetchval("select count(*) from packed_run where body is not null") == 0
    assert await record_of(store, run) == before
    assert (await store.contents.get_many(P, list(run.contents))).keys() >= named(run)
    (removal,) = await store.tiers.removals(P, limit=10)
    assert removal.runs == [run.run]
    assert await store.objects.unknown_keys() == []
    assert await sql.fetchval("select count(*) from stored_object where state <> 2") == 0
    await sql.execute("update project set retention = null")
    await store.close()
