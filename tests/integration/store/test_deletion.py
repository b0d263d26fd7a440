"""A run is deleted with all that is stored of it; what arrives of it later is dropped, until the tombstone expires."""

import asyncio

import asyncpg
import pytest

from playhead.model.canonical import content_of
from playhead.projection.inputs import Projection
from playhead_collector.store.ports.leases import LeaseRequest
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import RUN, START_NS, Clock, P, events, json, log, row, run_number, span

OF_RUN = ("run", "run_news", "span_page", "event_page", "run_snapshot", "llm_call", "pending_ref", "run_lease")
DAY_NS = 86_400 * 1_000_000_000


async def make(store: PostgresStore, run: str = RUN, *, fork_of: str | None = None, project_id: int = P) -> None:
    """A run, projected, with a lease and content that never came."""
    spans = [span(number, run=run, INPUT_REF=json(f"{run} {number}").ref) for number in range(1, 4)]
    await store.spans.ingest(project_id, Batch(spans=spans))
    async with store.projections.locked_run(project_id, run) as work:
        assert work is not None
        made = events(1_100, run=run)
        forked = {"fork_of": fork_of} if fork_of else {}
        work.result = Projection(made, row(run, status="completed", ended_ns=START_NS, **forked), ())
    await store.leases.take(project_id, run, LeaseRequest(holder="a", process="a", seconds=60, attempt=1, force=True))
    await store.contents.keep_explanation(project_id, run, json(run).ref, "m", json(f"about {run}"))


async def counted(sql: asyncpg.Connection, run: str, project_id: int = P) -> dict[str, int]:
    asked = "select count(*) from {} where project_id = $1 and run_id = $2::text::uuid"
    return {name: await sql.fetchval(asked.format(name), project_id, run) for name in (*OF_RUN, "explanation")}


async def test_all_of_a_run_goes_and_nothing_of_another(store: PostgresStore, sql: asyncpg.Connection):
    other, elsewhere = run_number(1), run_number(2)
    await make(store)
    await make(store, other)
    await make(store, elsewhere, project_id=2)
    await make(store, RUN, project_id=2)
    before = await counted(sql, other), await counted(sql, RUN, 2)
    assert all(count for name, count in (await counted(sql, RUN)).items() if name != "run_snapshot")
    deleted = await store.garbage.delete_run(P, RUN, forks=False)
    assert deleted.runs == (RUN,)
    assert not any((await counted(sql, RUN)).values())
    assert (await counted(sql, other), await counted(sql, RUN, 2)) == before
    assert await store.runs.get(P, RUN) is None
    assert [each.run for each in await store.runs.page(P, RunFilter(), limit=10)] == [other]
    assert (await store.garbage.delete_run(P, RUN, forks=False)).runs == ()


async def test_late_spans_are_dropped_and_counted_until_the_tombstone_expires(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    await make(store)
    await store.garbage.delete_run(P, RUN, forks=False)
    lifted = content_of("what an instrumentation wrote inline")
    late = Batch(spans=[span(8)], logs=[log(9)], contents=[lifted])
    assert (await store.spans.ingest(P, late)).dropped == 2
    assert await store.runs.get(P, RUN) is None
    assert await store.contents.missing(P, [lifted.ref]) == [lifted.ref]
    mixed = Batch(spans=[span(8), span(1, run=run_number(1))])
    ingested = await store.spans.ingest(P, mixed)
    assert (ingested.spans, ingested.dropped) == (2, 1)
    assert await store.runs.get(P, run_number(1)) is not None
    assert await sql.fetchval("select dropped from run_tombstone") == 3
    clock.days_pass(10)
    assert await store.garbage.forget_tombstones(9 * DAY_NS) == 0  # not before its content was swept
    await sql.execute("update run_tombstone set swept = true")
    assert await store.garbage.forget_tombstones(11 * DAY_NS) == 0
    assert await store.garbage.forget_tombstones(9 * DAY_NS) == 1
    assert (await store.spans.ingest(P, Batch(spans=[span(8)]))).dropped == 0
    assert await store.runs.get(P, RUN) is not None


async def test_forks_stand_in_the_way_unless_they_are_to_go_too(store: PostgresStore):
    child, grandchild, stranger = run_number(1), run_number(2), run_number(3)
    await make(store)
    await make(store, child, fork_of=RUN)
    await make(store, grandchild, fork_of=child)
    await make(store, stranger)
    refused = await store.garbage.delete_run(P, RUN, forks=False)
    assert (refused.runs, set(refused.forks)) == ((), {child, grandchild})
    assert await store.runs.get(P, RUN) is not None
    assert (await store.garbage.delete_run(P, grandchild, forks=False)).runs == (grandchild,)
    assert (await store.garbage.delete_run(P, RUN, forks=True)).runs == (RUN, child)
    assert [each.run for each in await store.runs.page(P, RunFilter(), limit=10)] == [stranger]


@pytest.mark.parametrize("round_", range(3))
async def test_spans_that_arrive_while_a_run_is_deleted_do_not_bring_it_back(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, round_: int
):
    """Ingest and projection by two collectors, and the deletion among them."""
    await make(store)
    deleted = asyncio.Event()

    async def arrive(each: PostgresStore, first: int) -> None:
        for number in range(first, first + 20):
            await each.spans.ingest(P, Batch(spans=[span(number)], contents=[content_of(f"{number}")]))
            if number == first + 5 + round_:
                deleted.set()

    async def project() -> None:
        for _ in range(20):
            async with other_store.projections.locked_run(P, RUN) as work:
                if work is not None:
                    work.result = Projection(events(3), row())

    async def delete() -> None:
        await deleted.wait()
        assert (await store.garbage.delete_run(P, RUN, forks=False)).runs == (RUN,)

    await asyncio.gather(arrive(store, 100), arrive(other_store, 200), project(), delete())
    assert not any((await counted(sql, RUN)).values())


async def test_what_is_made_for_a_deleted_run_is_not_kept(store: PostgresStore, sql: asyncpg.Connection):
    await make(store)
    await store.garbage.delete_run(P, RUN, forks=False)
    await store.contents.keep_explanation(P, RUN, json(RUN).ref, "m", json("late"))
    assert await store.contents.explanation(P, json(RUN).ref) is None
