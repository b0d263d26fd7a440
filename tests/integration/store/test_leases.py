"""Who goes on with a run: one holder at a time, by the database's clock."""

from typing import Any

import asyncpg
import pytest

from playhead_collector.store.ports import Batch
from playhead_collector.store.ports.leases import LeaseResult
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P, run_number, span

RUN = run_number(1)


async def take(store: PostgresStore, holder: str, *, run: str = RUN, **how: Any) -> LeaseResult:
    how = {"seconds": 30.0, "force": False, "unless_heard": False} | how
    return await store.take_lease(P, run, holder, f"process of {holder}", **how)


async def run_out(sql: asyncpg.Connection) -> None:
    """As when nobody has renewed any lease for too long."""
    await sql.execute("update run_lease set until = now() - interval '1 second'")


async def test_of_two_that_want_a_run_one_gets_it_and_the_other_hears_who_has_it(
    store: PostgresStore, other_store: PostgresStore
):
    first = await take(store, "a")
    second = await take(other_store, "b")
    assert first.lease is not None
    assert (first.lease.holder, first.lease.process) == ("a", "process of a")
    assert first.lease.until_ns - first.lease.since_ns == 30 * 10**9
    assert second == LeaseResult(None, first.lease, None)
    assert (await take(other_store, "b", run=run_number(2))).lease is not None


async def test_the_same_holder_may_take_it_again(store: PostgresStore):
    """Within one journal the kernel's locks say who is alive: a second process there means that the first is dead."""
    await take(store, "a")
    assert (await take(store, "a")).lease is not None


async def test_a_lease_that_has_run_out_is_anybody_s(store: PostgresStore, sql: asyncpg.Connection):
    await take(store, "a")
    await run_out(sql)
    assert (await take(store, "b")).lease is not None


async def test_renewing_moves_the_end_and_keeps_the_beginning(store: PostgresStore, sql: asyncpg.Connection):
    lease = (await take(store, "a")).lease
    renewed = (await store.renew_lease(P, RUN, "a", 60.0)).lease
    assert lease is not None
    assert renewed is not None
    assert renewed.since_ns == lease.since_ns
    assert renewed.until_ns >= lease.since_ns + 60 * 10**9
    await run_out(sql)
    assert (await store.renew_lease(P, RUN, "a", 60.0)).lease is not None
    assert (await take(store, "b")).lease is None


async def test_who_lost_it_cannot_renew_it_not_even_when_the_other_has_gone(store: PostgresStore):
    await take(store, "a")
    taken = (await take(store, "b", force=True)).lease
    assert await store.renew_lease(P, RUN, "a", 30.0) == LeaseResult(None, taken, None)
    assert not await store.release_lease(P, RUN, "a")
    assert await store.release_lease(P, RUN, "b")
    assert await store.renew_lease(P, RUN, "a", 30.0) == LeaseResult(None, None, None)


async def test_a_lease_that_was_given_back_is_anybody_s(store: PostgresStore):
    await take(store, "a")
    assert await store.release_lease(P, RUN, "a")
    assert (await take(store, "b")).lease is not None


async def test_a_run_that_still_sends_is_refused_until_it_was_silent_for_as_long(store: PostgresStore, clock: Clock):
    await store.ingest(P, Batch(spans=[span(1, run=RUN)]))
    heard_ns = clock()
    clock.now_ns += 10 * 10**9
    refused = await take(store, "a", unless_heard=True)
    assert refused == LeaseResult(None, None, heard_ns)
    clock.now_ns += 20 * 10**9
    assert (await take(store, "a", unless_heard=True)).lease is not None


async def test_a_process_that_was_handed_a_part_of_a_run_does_not_keep_it_from_being_resumed(
    store: PostgresStore, clock: Clock
):
    await store.ingest(P, Batch(spans=[span(1, run=RUN, CALL_ORDER=1)]))
    heard_ns = clock()
    clock.now_ns += 20 * 10**9
    await store.ingest(P, Batch(spans=[span(2, run=RUN, CALL_ORDER=1, PROCESS_ID="1" * 16)]))
    assert await take(store, "a", unless_heard=True) == LeaseResult(None, None, heard_ns)
    clock.now_ns += 10 * 10**9
    assert (await take(store, "a", unless_heard=True)).lease is not None


async def test_who_has_the_lease_is_said_rather_than_that_the_run_sends(store: PostgresStore):
    held = (await take(store, "a")).lease
    await store.ingest(P, Batch(spans=[span(1, run=RUN)]))
    refused = await take(store, "b", unless_heard=True)
    assert (refused.lease, refused.held) == (None, held)


@pytest.mark.parametrize("how", [{"force": True}, {"unless_heard": False}])
async def test_a_run_that_still_sends_can_be_taken_all_the_same(store: PostgresStore, how: dict[str, bool]):
    await store.ingest(P, Batch(spans=[span(1, run=RUN)]))
    asked: dict[str, Any] = {"unless_heard": True} | how
    assert (await take(store, "a", **asked)).lease is not None


async def test_what_a_holder_sent_itself_does_not_keep_it_out(store: PostgresStore):
    await take(store, "a")
    await store.ingest(P, Batch(spans=[span(1, run=RUN)]))
    assert (await take(store, "a", unless_heard=True)).lease is not None


async def test_leases_of_processes_that_died_a_day_ago_are_forgotten(store: PostgresStore, sql: asyncpg.Connection):
    await take(store, "a")
    await sql.execute("update run_lease set until = now() - interval '25 hours'")
    await take(store, "b", run=run_number(2))
    assert await sql.fetchval("select count(*) from run_lease") == 1
