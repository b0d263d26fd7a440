"""Who goes on with a run: one holder at a time, by the database's clock."""

from typing import Any

import asyncpg
import pytest

from playhead_collector.store.ports.leases import LeaseRequest, LeaseResult
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P, run_number, span

RUN = run_number(1)


async def take(store: PostgresStore, holder: str, *, run: str = RUN, **how: Any) -> LeaseResult:
    how = {"seconds": 30.0} | how
    return await store.leases.take(P, run, LeaseRequest(holder=holder, process=f"process of {holder}", **how))


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
    renewed = (await store.leases.renew(P, RUN, "a", 60.0)).lease
    assert lease is not None
    assert renewed is not None
    assert renewed.since_ns == lease.since_ns
    assert renewed.until_ns >= lease.since_ns + 60 * 10**9
    await run_out(sql)
    assert (await store.leases.renew(P, RUN, "a", 60.0)).lease is not None
    assert (await take(store, "b")).lease is None


async def test_who_lost_it_cannot_renew_it_not_even_when_the_other_has_gone(store: PostgresStore):
    await take(store, "a")
    taken = (await take(store, "b", force=True)).lease
    assert await store.leases.renew(P, RUN, "a", 30.0) == LeaseResult(None, taken, None)
    assert not await store.leases.release(P, RUN, "a")
    assert await store.leases.release(P, RUN, "b")
    refused = await store.leases.renew(P, RUN, "a", 30.0)
    assert refused.lease is None
    assert refused.held is not None
    assert (refused.held.holder, refused.held.is_held, refused.held.delivered) == ("b", False, True)


async def test_a_lease_that_was_given_back_is_anybody_s(store: PostgresStore):
    await take(store, "a")
    assert await store.leases.release(P, RUN, "a")
    assert (await take(store, "b")).lease is not None


async def test_a_run_that_still_sends_is_refused_until_it_was_silent_for_as_long(store: PostgresStore, clock: Clock):
    await store.spans.ingest(P, Batch(spans=[span(1, run=RUN)]))
    heard_ns = clock()
    clock.now_ns += 10 * 10**9
    refused = await take(store, "a", unless_heard=True)
    assert refused == LeaseResult(None, None, heard_ns)
    clock.now_ns += 20 * 10**9
    assert (await take(store, "a", unless_heard=True)).lease is not None


async def test_a_process_that_was_handed_a_part_of_a_run_does_not_keep_it_from_being_resumed(
    store: PostgresStore, clock: Clock
):
    await store.spans.ingest(P, Batch(spans=[span(1, run=RUN, CALL_ORDER=1)]))
    heard_ns = clock()
    clock.now_ns += 20 * 10**9
    await store.spans.ingest(P, Batch(spans=[span(2, run=RUN, CALL_ORDER=1, PROCESS_ID="1" * 16)]))
    assert await take(store, "a", unless_heard=True) == LeaseResult(None, None, heard_ns)
    clock.now_ns += 10 * 10**9
    assert (await take(store, "a", unless_heard=True)).lease is not None


async def test_who_has_the_lease_is_said_rather_than_that_the_run_sends(store: PostgresStore):
    held = (await take(store, "a")).lease
    await store.spans.ingest(P, Batch(spans=[span(1, run=RUN)]))
    refused = await take(store, "b", unless_heard=True)
    assert (refused.lease, refused.held) == (None, held)


@pytest.mark.parametrize("how", [{"force": True}, {"unless_heard": False}])
async def test_a_run_that_still_sends_can_be_taken_all_the_same(store: PostgresStore, how: dict[str, bool]):
    await store.spans.ingest(P, Batch(spans=[span(1, run=RUN)]))
    asked: dict[str, Any] = {"unless_heard": True} | how
    assert (await take(store, "a", **asked)).lease is not None


async def test_what_a_holder_sent_itself_does_not_keep_it_out(store: PostgresStore):
    await take(store, "a")
    await store.spans.ingest(P, Batch(spans=[span(1, run=RUN)]))
    assert (await take(store, "a", unless_heard=True)).lease is not None


async def test_leases_that_ran_out_a_day_ago_are_forgotten_with_their_runs(
    store: PostgresStore, sql: asyncpg.Connection
):
    await take(store, "a")
    await take(store, "b", run=run_number(2))
    await store.spans.ingest(P, Batch(spans=[span(1, run=run_number(2))]))
    await sql.execute("update run_lease set until = now() - interval '25 hours'")
    assert await store.garbage.forget_leases() == 1
    assert [row["holder"] for row in await sql.fetch("select holder from run_lease")] == ["b"]


# --- what may not have arrived ----------------------------------------------------------------------------------------

CAREFUL: dict[str, Any] = {"unless_undelivered": True}


async def test_a_run_that_began_elsewhere_is_refused_until_all_of_it_has_arrived(store: PostgresStore):
    assert await take(store, "b", **CAREFUL) == LeaseResult(None, None, undelivered=True)
    assert (await take(store, "a", begun_here=True, **CAREFUL)).lease is not None
    assert await store.leases.release(P, RUN, "a", attempt=0)
    assert (await take(store, "b", **CAREFUL)).lease is not None


async def test_a_run_that_nobody_resumed_is_free_when_its_journal_says_that_all_has_arrived(store: PostgresStore):
    assert await store.leases.release(P, RUN, "a", process="process 7 on web-1", attempt=0)
    assert not await store.leases.release(P, RUN, "c", process="process 8 on web-2", attempt=0), "another has said it"
    assert (await take(store, "b", attempt=1, **CAREFUL)).lease is not None


async def test_a_holder_that_died_is_named_until_its_records_have_arrived(
    store: PostgresStore, sql: asyncpg.Connection
):
    died = (await take(store, "a", attempt=1, begun_here=True)).lease
    await run_out(sql)
    refused = await take(store, "b", attempt=2, **CAREFUL)
    assert (refused.lease, refused.undelivered) == (None, True)
    assert refused.held is not None
    assert died is not None
    assert (refused.held.process, refused.held.attempt, refused.held.is_held) == (died.process, 1, False)
    assert (await take(store, "a", attempt=2, **CAREFUL)).lease is not None, "it has its own records"
    await run_out(sql)
    assert not await store.leases.release(P, RUN, "a", attempt=1), "said of an attempt that is not the latest"
    assert await store.leases.release(P, RUN, "a", attempt=2)
    assert (await take(store, "b", attempt=3, **CAREFUL)).lease is not None


async def test_a_lease_of_a_later_attempt_is_not_an_earlier_one_s(store: PostgresStore, sql: asyncpg.Connection):
    """Also in one journal: its older process may have stood still meanwhile."""
    assert (await store.leases.renew(P, RUN, "a", 30.0, process="process 7", attempt=0)).lease is not None
    assert await sql.fetchval("select count(*) from run_lease") == 0, "a run that nobody resumes has none"
    assert (await take(store, "a", attempt=1)).lease is not None
    assert (await store.leases.renew(P, RUN, "a", 30.0, attempt=0)).lease is None
    assert (await store.leases.renew(P, RUN, "a", 30.0, attempt=1)).lease is not None


async def test_who_could_not_ask_before_has_what_a_later_attempt_may_have(
    store: PostgresStore, sql: asyncpg.Connection
):
    await take(store, "a", attempt=1)
    assert (await store.leases.renew(P, RUN, "b", 30.0, attempt=2)).lease is None
    await run_out(sql)
    assert (await store.leases.renew(P, RUN, "b", 30.0, attempt=1)).lease is None
    renewed = (await store.leases.renew(P, RUN, "b", 30.0, attempt=2)).lease
    assert renewed is not None
    assert (renewed.holder, renewed.attempt) == ("b", 2)


# --- what an attempt does that was overtaken --------------------------------------------------------------------------


async def test_what_an_attempt_does_after_it_was_overtaken_is_refused_and_what_it_did_before_is_not(
    store: PostgresStore, sql: asyncpg.Connection
):
    await take(store, "a", attempt=1, begun_here=True)
    taken = (await take(store, "b", attempt=1, force=True, **CAREFUL)).lease
    assert taken is not None
    assert taken.attempt == 2, "later than that of the holder whose records may not have arrived"

    def made(number: int, attempt: int, at_ns: int) -> Any:
        made_span = span(number, run=RUN, RUN_ATTEMPT=attempt)
        made_span.start_ns = made_span.end_ns = at_ns
        return made_span

    before, after = taken.since_ns - 10**9, taken.since_ns + 10**9
    spans = [made(1, 1, before), made(2, 1, after), made(3, 2, after), made(4, 0, after)]
    ingested = await store.spans.ingest(P, Batch(spans=spans))
    assert (ingested.superseded, ingested.takeovers) == (2, {RUN: 2})
    assert {each.span_id for each in await store.spans.read(P, RUN)} == {spans[0].span_id, spans[2].span_id}
    assert (await store.spans.ingest(P, Batch(spans=[spans[1]]))).superseded == 1
    assert await store.garbage.delete_run(P, RUN, forks=False)
    assert await sql.fetchval("select count(*) from run_takeover") == 0


@pytest.mark.parametrize("begun_here", [True, False])
async def test_no_takeover_is_noted_where_all_has_arrived(
    store: PostgresStore, sql: asyncpg.Connection, begun_here: bool
):
    await take(store, "a", attempt=1, begun_here=True, force=True)
    await store.leases.release(P, RUN, "a", attempt=1)
    await take(store, "b", attempt=2, force=True, begun_here=begun_here, **CAREFUL)
    await take(store, "b", attempt=3, force=True, begun_here=begun_here, **CAREFUL)
    assert await sql.fetchval("select count(*) from run_takeover") == 0
