"""Runs that go on, through the store: what is added in many small steps is what one projection from nothing gives."""

import random
from collections.abc import Sequence

import asyncpg
import pytest

from playhead.export.shipment import announcement
from playhead.model.span import LogEvent, Span
from playhead.model.state import fold
from playhead.projection.inputs import RunInput
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.projection import ProjectionRunner
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.events import PAGE_EVENTS
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P
from tests.support.made_up_runs import MadeUpRun

Arrival = Span | LogEvent
KEPT = 10**8


def runner_of(store: PostgresStore, clock: Clock, kept_bytes: int = KEPT) -> ProjectionRunner:
    return ProjectionRunner(store.projections, clock=clock, seal_after_s=30, kept_bytes=kept_bytes)


async def ingest(store: PostgresStore, arrivals: Sequence[Arrival]) -> None:
    spans = [each for each in arrivals if isinstance(each, Span)]
    await store.spans.ingest(P, Batch(spans, [each for each in arrivals if isinstance(each, LogEvent)]))


async def put_content(store: PostgresStore, run: MadeUpRun) -> None:
    await store.contents.put(P, run.contents.values(), run.threads)


def arrivals_of(run: MadeUpRun) -> list[Arrival]:
    """Each span announced, and ended right after; the root is never ended."""
    root, *spans = run.spans
    return [announcement(root), *(each for span in spans for each in (announcement(span), span))]


async def check(store: PostgresStore, run: MadeUpRun) -> None:
    """What is stored, against a projection of all that has arrived."""
    spans, logs = await store.spans.read(P, run.run), await store.spans.logs(P, run.run)
    async with store.projections.locked_runs(P, [run.run]) as works:
        given = works[0]
        assert (given.spans, given.logs) == (spans, logs)
        expected = project(RunInput(run.run, spans, logs, given.nodes, given.roles, None, 0), 0, ProjectSettings())
    events = await store.events.read(P, run.run)
    assert events == list(expected.events)
    assert await store.runs.get(P, run.run) == expected.row
    last = len(events) // 512 * 512
    assert await store.events.snapshot(P, run.run, len(events)) == (fold(events[:last]) if last else None)
    assert [call for call in events if call.kind == "llm_called"][-1].seq in {
        seq for _, seq in await store.uses.calls_with_thread(P, _last_thread(run), limit=9)
    }


def _last_thread(run: MadeUpRun):
    asked = [span.attributes["gen_ai.input.messages_ref"] for span in run.spans if "chat" in span.name]
    return type(run.threads[0].messages[0])(asked[-1])


async def test_a_long_run_that_arrives_bit_by_bit_is_told_as_a_whole(
    store: PostgresStore, clock: Clock, sql: asyncpg.Connection
):
    run, runner, chance = MadeUpRun(150, live=True), runner_of(store, clock), random.Random(1)
    await put_content(store, run)
    rest = arrivals_of(run)
    while rest:
        size = chance.choice([1, 1, 2, 3, 5, 40])
        await ingest(store, rest[:size])
        rest = rest[size:]
        assert await runner.project_now(P, run.run)
    await check(store, run)
    assert runner.counts["started_over"] == 1
    pages = [each["n"] for each in await sql.fetch("select last_seq - first_seq + 1 as n from event_page")]
    assert sum(pages) == len(await store.events.read(P, run.run)) > 3 * PAGE_EVENTS
    assert len([n for n in pages if n < PAGE_EVENTS]) <= 16
    assert await sql.fetchval("select count(*) from span_page") < 40
    some = await store.events.read(P, run.run, after=5, limit=300)
    assert [event.seq for event in some] == list(range(6, 306))
    assert await store.events.seq_of(P, run.run, some[-1].id) == 305


async def test_what_is_stored_of_a_run_that_grows_is_not_written_again(
    store: PostgresStore, clock: Clock, sql: asyncpg.Connection
):
    run, runner = MadeUpRun(100, live=True), runner_of(store, clock)
    await put_content(store, run)
    arrivals = arrivals_of(run)
    await ingest(store, arrivals[:-8])
    await runner.project_now(P, run.run)
    tables = ("event_page", "run_snapshot", "llm_call", "span_page")
    rows = {table: set(await sql.fetch(f"select ctid, xmin from {table}")) for table in tables}
    for each in arrivals[-8:]:
        await ingest(store, [each])
        await runner.project_now(P, run.run)
    for table in tables:
        assert rows[table] <= set(await sql.fetch(f"select ctid, xmin from {table}"))
    await check(store, run)


async def test_what_arrives_out_of_order_is_told_in_order(store: PostgresStore, clock: Clock):
    run, runner, chance = MadeUpRun(40, live=True), runner_of(store, clock), random.Random(2)
    await put_content(store, run)
    rest = arrivals_of(run)
    for _ in range(6):
        rest.insert(chance.randrange(len(rest)), rest.pop(chance.randrange(len(rest))))
    while rest:
        size = chance.choice([1, 2, 5])
        await ingest(store, rest[:size])
        rest = rest[size:]
        await runner.project_now(P, run.run)
    await check(store, run)
    assert runner.counts["started_over"] > 1


async def test_content_that_comes_after_its_spans_changes_what_was_told(store: PostgresStore, clock: Clock):
    run, runner = MadeUpRun(12, live=True), runner_of(store, clock)
    for each in arrivals_of(run):
        await ingest(store, [each])
        await runner.project_now(P, run.run)
    await put_content(store, run)
    await runner.project_now(P, run.run)
    await check(store, run)


@pytest.mark.parametrize("kept_bytes", [KEPT, 0])
async def test_two_collectors_that_project_one_run_in_turn_say_the_same(
    store: PostgresStore, other_store: PostgresStore, clock: Clock, kept_bytes: int
):
    """Each finds that the other was there, and does not go on from what it has kept."""
    run, chance = MadeUpRun(30, live=True), random.Random(3)
    runners = runner_of(store, clock, kept_bytes), runner_of(other_store, clock, kept_bytes)
    await put_content(store, run)
    for each in arrivals_of(run):
        await ingest(store, [each])
        await chance.choice(runners).project_now(P, run.run)
    await check(store, run)


async def test_a_run_that_was_deleted_while_it_was_kept_stays_deleted(store: PostgresStore, clock: Clock):
    run, runner = MadeUpRun(5, live=True), runner_of(store, clock)
    await put_content(store, run)
    await ingest(store, arrivals_of(run)[:-2])
    await runner.project_now(P, run.run)
    await store.garbage.delete_run(P, run.run, forks=False)
    await ingest(store, arrivals_of(run)[-2:])
    await runner.project_now(P, run.run)
    await runner.run_once()
    assert await store.runs.get(P, run.run) is None
    assert await store.events.read(P, run.run) == []


async def test_a_run_that_ends_is_sealed_and_small(store: PostgresStore, clock: Clock, sql: asyncpg.Connection):
    run, runner = MadeUpRun(20), runner_of(store, clock)
    await put_content(store, run)
    for each in [*arrivals_of(run), run.spans[0]]:
        await ingest(store, [each])
        await runner.project_now(P, run.run)
    clock.now_ns += 31 * 10**9
    await runner.run_once()
    assert (await store.events.read(P, run.run))[-1].kind == "run_completed"
    row = await store.runs.get(P, run.run)
    assert row is not None
    assert row.sealed
    assert await sql.fetchval("select count(*) from span_page") == 1
    assert await sql.fetchval("select count(*) from event_page where beside is not null") == 1


async def test_no_more_is_kept_than_there_is_room_for(store: PostgresStore, clock: Clock):
    runs = [MadeUpRun(5, live=True) for _ in range(8)]
    runner = runner_of(store, clock, 60_000)
    for run in runs:
        await put_content(store, run)
    for at in range(0, len(arrivals_of(runs[0])), 5):
        for run in runs:
            await ingest(store, arrivals_of(run)[at : at + 5])
        await runner.run_once()
        clock.now_ns += 10**9
        assert 0 < runner.growing_runs.bytes <= 60_000
    for run in runs:
        await check(store, run)
