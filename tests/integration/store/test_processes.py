"""Runs that several processes record, in Postgres: sealed when all of them have ended or are lost."""

from playhead.model import names
from playhead.model.span import Span
from playhead_collector.projection import ProjectionRunner
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import RUN, TRACE, Clock, P, run_number, span

CHILD = "1" * 16


def parts(*, is_open: bool) -> list[Span]:
    """A run that has ended, and a call of another process that was handed a part of it."""
    root = span(1, CALL_ORDER=1, CALL_ENDED_AFTER=1, CALL_END_ORDER=1, RUN_ROOT=True, KIND="agent")
    work = span(2, ended=not is_open, CALL_ORDER=1, PROCESS_ID=CHILD, PROCESS_AFTER="#1", KIND="tool")
    work.attributes |= {} if is_open else {names.CALL_ENDED_AFTER: 1, names.CALL_END_ORDER: 1}
    return [root, work]


async def sealed(store: PostgresStore, runner: ProjectionRunner) -> bool:
    await runner.run_once()
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert row.status == "completed"
    return row.sealed


async def test_an_open_call_of_another_process_holds_the_seal_until_it_ends(store: PostgresStore, clock: Clock):
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=30, lost_after_s=900)
    await store.spans.ingest(P, Batch(spans=parts(is_open=True)))
    assert not await sealed(store, runner)
    clock.now_ns += 800 * 10**9
    assert not await sealed(store, runner)
    await store.spans.ingest(P, Batch(spans=parts(is_open=False)[1:]))
    assert not await sealed(store, runner)
    clock.now_ns += 31 * 10**9
    assert await sealed(store, runner)
    row = await store.runs.get(P, RUN)
    assert row is not None
    [process] = row.processes
    assert (process.process, process.spans, process.spans_missing, row.processes_open) == (CHILD, 1, 0, 0)
    await runner.stop()


async def test_a_process_that_is_lost_is_waited_for_no_longer(store: PostgresStore, clock: Clock):
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=30, lost_after_s=900)
    await store.spans.ingest(P, Batch(spans=parts(is_open=True)))
    assert not await sealed(store, runner)
    clock.now_ns += 901 * 10**9
    assert await sealed(store, runner)
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert (row.processes_open, row.processes[0].ended_ns) == (1, None)
    await runner.stop()


async def test_runs_are_found_by_a_trace_that_they_share_and_by_the_run_that_they_name(
    store: PostgresStore, clock: Clock
):
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=30)
    other = span(5, run=run_number(7), CALL_ORDER=1, KIND="agent", RUN_ROOT=True, LINKED_RUNS=[RUN])
    stranger = span(6, run=run_number(8), CALL_ORDER=1, KIND="agent", RUN_ROOT=True)
    stranger.trace_id = "c" * 32
    await store.spans.ingest(P, Batch(spans=[*parts(is_open=False), other, stranger]))
    await runner.run_once()
    assert {row.run for row in await store.runs.page(P, RunFilter(trace=TRACE), limit=9)} == {RUN, run_number(7)}
    assert [row.run for row in await store.runs.page(P, RunFilter(linked=RUN), limit=9)] == [run_number(7)]
    await runner.stop()
