"""Runs go from tier to tier: what a policy keeps is read as before, what it lets go is gone, and nothing else is."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import asyncpg
import orjson
import pytest

from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead_collector.projection import ProjectionRunner
from playhead_collector.retain.packer import Packer
from playhead_collector.retain.retainer import Retainer
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.ports.leases import LeaseRequest
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.ports.tiers import Tier
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P
from tests.support.made_up_runs import MadeUpRun

DAY_NS = 86_400 * 10**9
COLD = {"default": {"hot": "7d", "cold": "1y", "archive": "2y"}}
THIN = {"default": {"hot": "7d", "cold": "1y", "archive": "2y", "contents": False}}
ROWS = ("span_page", "event_page", "run_snapshot", "llm_call", "tool_call", "content_use", "run_news", "packed_run")


async def store_runs(store: PostgresStore, clock: Clock, runs: Sequence[MadeUpRun]) -> None:
    """Ingested, projected, sealed and packed, as a collector does it."""
    for run in runs:
        await store.contents.put(P, run.contents.values(), run.threads)
        await store.spans.ingest(P, Batch(run.spans))
    await settle(store, clock)


async def settle(store: PostgresStore, clock: Clock) -> None:
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=1)
    packer = Packer(store.projections, clock=clock, rest=lambda: 0)
    for _ in range(4):
        await runner.run_once()
        clock.now_ns += 10**10
    while await store.projections.runs_to_pack(1):
        await packer.run_once()
        clock.now_ns += 10**9


async def set_policy(store: PostgresStore, policy: dict[str, Any] | None) -> None:
    await store.tiers.set_policy(P, None if policy is None else orjson.dumps(policy).decode())


def retainer_of(store: PostgresStore, clock: Clock) -> Retainer:
    async def no_rest(_: float) -> None: ...

    return Retainer(store.tiers, wall_ns=clock, sleep=no_rest)


async def retain(store: PostgresStore, clock: Clock) -> Retainer:
    retainer = retainer_of(store, clock)
    await retainer.run_once()
    return retainer


async def sweep(store: PostgresStore, clock: Clock) -> None:
    clock.days_pass(3)
    sweeper = Sweeper(store.garbage, grace_s=86_400, tombstone_s=1e9)
    await sweeper.run_once()


async def tier_of(store: PostgresStore, run: MadeUpRun) -> int:
    row = await store.runs.get(P, run.run)
    assert row is not None
    return row.tier


async def counted(sql: asyncpg.Connection, run: MadeUpRun) -> dict[str, int]:
    asked = "select count(*) from {} where run_id = $1::text::uuid"
    return {name: await sql.fetchval(asked.format(name), run.run) for name in ROWS}


async def record_of(store: PostgresStore, run: MadeUpRun) -> tuple[object, ...]:
    """All that is recorded in a run, apart from its contents."""
    events = await store.events.read(P, run.run)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    parts = [await store.events.read(P, run.run, after=at, limit=3) for at in range(0, len(events), 3)]
    assert [event for part in parts for event in part] == list(events)
    spans, pages = await store.spans.read(P, run.run), await store.spans.pages(P, run.run, after=-1, limit=99)
    seq = await store.events.seq_of(P, run.run, events[-1].id)
    return events, list(spans), sum(len(page.spans) for page in pages), seq


def with_bulk(run: MadeUpRun) -> MadeUpRun:
    """Adds a content that cannot be compressed, so that packs are worth being moved."""
    bulk = Content(random.Random(run.run).randbytes(15_000).hex().encode(), "text/plain")
    run.contents[bulk.ref] = bulk
    run.spans[-1].attributes["shop.bulk_ref"] = str(bulk.ref)
    return run


def refs_in(spans: Sequence[Span], name: str) -> list[ContentRef]:
    return [ContentRef(span.attributes[name]) for span in spans if name in span.attributes]


@pytest.fixture
def clock() -> Clock:
    """It is an hour after the made-up runs."""
    clock = Clock()
    clock.now_ns = MadeUpRun(1).spans[0].start_ns + 3_600 * 10**9
    return clock


@pytest.fixture(autouse=True)
async def no_policy(sql: asyncpg.Connection):
    """Projects outlive the tests of a module."""
    yield
    await sql.execute("update project set retention = null")


@pytest.mark.parametrize("steps", [3, 400])
async def test_a_cold_run_is_one_row_and_reads_as_before(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, steps: int
):
    run, other = MadeUpRun(steps), MadeUpRun(2)
    await store_runs(store, clock, [run, other])
    before, row = await record_of(store, run), await store.runs.get(P, run.run)
    snapshot = await store.events.snapshot(P, run.run, 10**9)
    assert (snapshot is not None) is (steps == 400)
    await set_policy(store, COLD)
    await retain(store, clock)
    assert await tier_of(store, run) == Tier.HOT  # it is not old enough
    clock.days_pass(8)
    await retain(store, clock)
    assert await tier_of(store, run) == Tier.COLD
    assert await counted(sql, run) == {**dict.fromkeys(ROWS, 0), "packed_run": 1}
    assert await record_of(store, run) == before
    after = await store.runs.get(P, run.run)
    assert row is not None
    assert after is not None
    assert (after.thinned_rule, after.thinned_ns) == ("default", clock.now_ns)
    assert (after.events, after.usage, after.agents, after.facts) == (row.events, row.usage, row.agents, row.facts)
    await sweep(store, clock)
    assert (await store.contents.get_many(P, list(run.contents))).keys() >= named(run)


def named(run: MadeUpRun) -> set[ContentRef]:
    """What the spans name that is a content; the last tool result and the thread after it are in no span."""
    values = {value for span in run.spans for value in span.attributes.values() if isinstance(value, str)}
    return {ref for ref in run.contents if str(ref) in values}


async def test_contents_go_with_the_policy_and_last_contexts_stay(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    run, other = MadeUpRun(6), MadeUpRun(3)
    await store_runs(store, clock, [run, other])
    shared = {ref for ref in run.contents if ref in other.contents}
    await set_policy(store, THIN)
    await sql.execute("insert into pin select 1, project_id, run_id from run where run_id = $1::text::uuid", other.run)
    clock.days_pass(8)
    await retain(store, clock)
    assert (await tier_of(store, run), await tier_of(store, other)) == (Tier.COLD, Tier.HOT)
    await sweep(store, clock)
    stored = (await store.contents.get_many(P, list(run.contents))).keys()
    last = refs_in(run.spans, names.INPUT_MESSAGES_REF)[-1]
    context = {node.message for node in await store.contents.thread(P, last)}
    arguments = set(refs_in(run.spans, names.TOOL_ARGUMENTS_REF))
    assert stored == context | shared
    assert arguments - shared
    assert not stored & (arguments - shared)
    assert (await store.contents.get_many(P, list(other.contents))).keys() >= named(other)
    (noted,) = await store.tiers.removals(P, limit=10)
    assert (noted.runs, noted.from_tier, noted.to_tier, noted.rule) == ([run.run], Tier.HOT, Tier.COLD, "default")
    assert noted.contents > len(arguments)
    assert noted.bytes > 0


async def test_the_archive_keeps_kinds_times_and_usage(store: PostgresStore, sql: asyncpg.Connection, clock: Clock):
    run = MadeUpRun(6)
    await store_runs(store, clock, [run])
    before = await store.events.read(P, run.run)
    row = await store.runs.get(P, run.run)
    await set_policy(store, THIN)
    clock.days_pass(8)
    await retain(store, clock)
    clock.days_pass(400)
    await retain(store, clock)
    assert await tier_of(store, run) == Tier.ARCHIVE
    after = await store.events.read(P, run.run)

    def shape(events: Sequence[Any]) -> list[tuple[object, ...]]:
        return [(event.kind, event.seq, event.time_ns, event.id, getattr(event, "usage", None)) for event in events]

    assert shape(after) == shape(before)
    body = orjson.dumps([vars(event) for event in after], default=str)
    assert b"sha256:" not in body
    assert b'"name":"bench"' not in body
    assert b'"name":"look_up"' in body
    assert await store.spans.read(P, run.run) == []
    archived = await store.runs.get(P, run.run)
    assert archived is not None
    assert row is not None
    assert (archived.usage, archived.events, archived.happened) == (row.usage, row.events, None)
    await sweep(store, clock)
    assert await store.contents.get_many(P, list(run.contents)) == {}
    assert await sql.fetchval("select count(*) from content") == 0
    assert await sql.fetchval("select count(*) from content_pack") == 0


async def test_late_spans_of_the_archive_are_dropped_for_as_long_as_it_is_there(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    run = MadeUpRun(3)
    root, *spans = run.spans
    run.spans = [root, *spans[:-1]]
    await store_runs(store, clock, [run])
    await set_policy(store, COLD)
    clock.days_pass(400)
    await retain(store, clock)
    assert await tier_of(store, run) == Tier.ARCHIVE
    await sql.execute("update run_tombstone set swept = true")
    clock.days_pass(100)
    assert await store.garbage.forget_tombstones(DAY_NS) == 0
    before = await store.events.read(P, run.run)
    assert (await store.spans.ingest(P, Batch(spans[-1:]))).dropped == 1
    await settle(store, clock)
    assert await store.events.read(P, run.run) == before
    assert (await store.garbage.delete_run(P, run.run, forks=False)).runs == (run.run,)
    assert await counted(sql, run) == dict.fromkeys(ROWS, 0)
    assert await sql.fetchval("select count(*) from pin") == 0


async def test_after_the_last_tier_runs_are_deleted_and_the_audit_says_so(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    runs = [MadeUpRun(2) for _ in range(40)]
    await store_runs(store, clock, runs)
    await set_policy(store, {"default": {"hot": "7d"}})
    clock.days_pass(8)
    retainer = await retain(store, clock)
    assert retainer.counts["deleted"] == 40
    assert await sql.fetchval("select count(*) from run") == 0
    removals = await store.tiers.removals(P, limit=10)
    assert {run for each in removals for run in each.runs} == {run.run for run in runs}
    assert {each.to_tier for each in removals} == {Tier.DELETED}
    latest, *older = removals
    assert await store.tiers.removals(P, limit=10, before=latest.number) == older


async def test_late_spans_bring_a_cold_run_back_into_rows_until_it_is_packed_again(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    run = MadeUpRun(4)
    late, whole = run.spans[-1], list(run.spans)
    run.spans = run.spans[:-1]
    await store_runs(store, clock, [run])
    before = await store.events.read(P, run.run)
    await set_policy(store, COLD)
    clock.days_pass(8)
    await retain(store, clock)
    await store.spans.ingest(P, Batch([late]))
    assert await store.events.read(P, run.run) == before  # not projected yet
    await settle(store, clock)
    after, row = await store.events.read(P, run.run), await store.runs.get(P, run.run)
    assert row is not None
    assert list(after[: len(before)]) == list(before)
    assert {event.span for event in after[len(before) :]} == {late.span_id}
    assert all(event.late for event in after[len(before) :])
    assert {span.span_id for span in await store.spans.read(P, run.run)} == {span.span_id for span in whole}
    assert row.tier == Tier.COLD
    rows = await counted(sql, run)
    assert (rows["packed_run"], rows["event_page"] > 0, rows["tool_call"] > 0) == (0, True, True)
    await retain(store, clock)
    assert (await counted(sql, run))["packed_run"] == 1
    assert await store.events.read(P, run.run) == after


async def test_a_batch_that_is_sent_again_changes_nothing(store: PostgresStore, sql: asyncpg.Connection, clock: Clock):
    run = MadeUpRun(4)
    await store_runs(store, clock, [run])
    await set_policy(store, COLD)
    clock.days_pass(8)
    await retain(store, clock)
    before = await record_of(store, run)
    await store.spans.ingest(P, Batch(run.spans))
    await settle(store, clock)
    assert await record_of(store, run) == before
    await retain(store, clock)
    assert await record_of(store, run) == before


async def test_roots_stay(store: PostgresStore, sql: asyncpg.Connection, clock: Clock):
    pinned, leased, waiting, free = runs = [MadeUpRun(2) for _ in range(4)]
    going_on = MadeUpRun(2, live=True)
    await store_runs(store, clock, [*runs, going_on])
    assert await store.tiers.pin(P, pinned.run, "evidence", "me") is not None
    await store.leases.take(P, leased.run, LeaseRequest(holder="a", process="a", seconds=60, attempt=1, force=True))
    await sql.execute(
        "insert into promise (created, project_id, run_id, promise_id, kind, body) "
        "values (now(), 1, $1::text::uuid, 'p', 'approval', '{}')",
        waiting.run,
    )
    await set_policy(store, {"default": {"hot": "7d"}})
    clock.days_pass(8)
    plan = await retainer_of(store, clock).plan(P, 10)
    assert (plan.runs, plan.kept, plan.looked_at) == (1, 3, 4)
    assert {run.run: decision.kept for run, decision in plan.due} == {
        pinned.run: "it is pinned",
        leased.run: "a process goes on with it",
        waiting.run: "it waits for a promise",
        free.run: None,
    }
    assert plan.bytes == plan.sizes[free.run] > 0
    await retain(store, clock)
    left = {run.run for run in [*runs, going_on] if await store.runs.get(P, run.run) is not None}
    assert left == {run.run for run in [pinned, leased, waiting, going_on]}
    assert await store.tiers.unpin(P, pinned.run)
    assert not await store.tiers.unpin(P, pinned.run)
    await retain(store, clock)
    assert await store.runs.get(P, pinned.run) is None


async def test_two_collectors_at_the_same_time_do_it_once(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    runs = [MadeUpRun(2) for _ in range(60)]
    await store_runs(store, clock, runs)
    await set_policy(store, COLD)
    clock.days_pass(8)
    await asyncio.gather(retain(store, clock), retain(other_store, clock))
    removals = await store.tiers.removals(P, limit=100)
    moved = [run for each in removals for run in each.runs]
    assert sorted(moved) == sorted(run.run for run in runs)
    assert await sql.fetchval("select count(*) from packed_run") == 60


async def test_a_policy_that_says_nothing_and_none_do_nothing(store: PostgresStore, clock: Clock):
    run = MadeUpRun(2)
    await store_runs(store, clock, [run])
    clock.days_pass(9_999)
    for policy in (None, {}, {"default": {"hot": "forever"}}):
        await set_policy(store, policy)
        await retain(store, clock)
        assert await tier_of(store, run) == Tier.HOT
    await set_policy(store, {"default": {"hott": "1d"}})  # of a newer version
    await retain(store, clock)
    assert await tier_of(store, run) == Tier.HOT
