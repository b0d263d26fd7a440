"""Runs whose processes are gone: the status `lost`, which is derived from silence and taken back by news."""

import time

import asyncpg
import pytest

from playhead.model.span import Span
from playhead_collector.projection import ProjectionRunner
from playhead_collector.store.ports.leases import LeaseRequest
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P, run_number, span

RUN = run_number(1)
OWN_S, FOREIGN_S = 900.0, 3600.0


@pytest.fixture
def runner(store: PostgresStore, clock: Clock) -> ProjectionRunner:
    clock.now_ns = time.time_ns()  # promises and leases go by the database's clock
    return ProjectionRunner(
        store.projections, clock=clock, seal_after_s=30.0, lost_after_s=OWN_S, foreign_lost_after_s=FOREIGN_S
    )


def foreign(number: int) -> Span:
    """A span that names no run, as other instrumentations send it."""
    return span(number, run=None)


async def arrive(store: PostgresStore, runner: ProjectionRunner, *spans: Span) -> None:
    await store.spans.ingest(P, Batch(spans=list(spans)))
    await runner.run_once()


async def after(clock: Clock, runner: ProjectionRunner, seconds: float) -> None:
    clock.now_ns += int(seconds * 1e9)
    await runner.run_once()


async def status(store: PostgresStore, run: str = RUN) -> str:
    row = await store.runs.get(P, run)
    assert row is not None
    assert [found.run for found in await store.runs.page(P, RunFilter(status=row.status), limit=9)] == [run]
    return row.status


async def test_a_silent_run_is_lost_with_the_time_of_its_last_record(
    store: PostgresStore, runner: ProjectionRunner, clock: Clock
):
    await arrive(store, runner, span(1, run=RUN, ended=False, RUN_ROOT=True))
    arrived_ns = clock.now_ns
    await after(clock, runner, OWN_S - 1)
    assert await status(store) == "running"
    await after(clock, runner, 100)
    assert await status(store) == "lost"
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert (row.lost_ns, row.ended_ns, row.sealed) == (arrived_ns, None, False)
    assert runner.counts["lost"] == 1


async def test_a_lost_run_is_running_again_when_more_of_it_arrives(
    store: PostgresStore, runner: ProjectionRunner, clock: Clock
):
    await arrive(store, runner, span(1, run=RUN, ended=False, RUN_ROOT=True))
    await after(clock, runner, OWN_S + 100)
    assert await status(store) == "lost"
    await arrive(store, runner, span(2, run=RUN))
    assert await status(store) == "running"
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert row.lost_ns is None
    await arrive(store, runner, span(1, run=RUN, RUN_ROOT=True))
    await after(clock, runner, OWN_S + 100)
    assert await status(store) == "completed"


async def test_another_instrumentation_may_be_silent_for_longer(
    store: PostgresStore, runner: ProjectionRunner, clock: Clock
):
    sent = foreign(2)
    assert sent.parent_id is not None  # its root comes when it ends
    await arrive(store, runner, sent)
    await after(clock, runner, FOREIGN_S - 1)
    assert await status(store, sent.trace_id) == "running"
    await after(clock, runner, 100)
    assert await status(store, sent.trace_id) == "lost"


async def test_a_run_that_waits_for_an_answer_is_not_lost(store: PostgresStore, runner: ProjectionRunner, clock: Clock):
    await arrive(store, runner, span(1, run=RUN, ended=False, RUN_ROOT=True))
    await store.promises.open(P, "p", "approval", RUN, {}, None)
    await after(clock, runner, 10 * OWN_S)
    assert await status(store) == "running"
    await store.promises.answer(P, "p", {"approved": True}, late=False)
    await after(clock, runner, OWN_S)
    assert await status(store) == "lost"  # answered so long ago, and nobody went on


async def test_a_request_to_stop_is_no_question(store: PostgresStore, runner: ProjectionRunner, clock: Clock):
    await arrive(store, runner, span(1, run=RUN, ended=False, RUN_ROOT=True))
    await store.promises.open(P, "p", "interrupt", RUN, {}, None)
    await after(clock, runner, OWN_S + 1)
    assert await status(store) == "lost"


async def test_a_run_with_a_live_lease_is_not_lost_and_one_whose_lease_ran_out_is_at_once(
    store: PostgresStore, runner: ProjectionRunner, clock: Clock, sql: asyncpg.Connection
):
    await arrive(store, runner, span(1, run=RUN, ended=False, RUN_ROOT=True))
    await store.leases.take(P, RUN, LeaseRequest(holder="a", process="process of a", seconds=30.0))
    await after(clock, runner, 10 * OWN_S)
    assert await status(store) == "running"
    await sql.execute("update run_lease set until = now() - interval '1 second'")
    await sql.execute("update run_news set arrived_ns = arrived_ns - 5000000000")
    await after(clock, runner, 100)
    assert await status(store) == "lost"


async def test_a_run_that_has_ended_is_never_lost(store: PostgresStore, runner: ProjectionRunner, clock: Clock):
    await arrive(store, runner, span(1, run=RUN, RUN_ROOT=True))
    await after(clock, runner, 10 * FOREIGN_S)
    assert await status(store) == "completed"
