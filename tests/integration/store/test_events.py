import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from playhead.model.event import RunEvent, UnknownEvent, event_from_json
from playhead.model.state import fold
from playhead.projection.inputs import Projection
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import RUN, START_NS, Clock, P, events, projection, row, run_number, span

TABLES = ("event_page", "run_snapshot")


async def projected(store: PostgresStore, count: int = 600, **fields: Any) -> None:
    if await store.runs.get(P, RUN) is None:
        await store.spans.ingest(P, Batch(spans=[span(1)]))
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        work.result = projection(events(count), **fields)


async def finish(store: PostgresStore, made: Sequence[RunEvent], error: Exception | None = None) -> None:
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        work.result = projection(made)
        if error is not None:
            raise error


async def versions(sql: asyncpg.Connection) -> list[asyncpg.Record]:
    return [r for table in TABLES for r in await sql.fetch(f"select tableoid, xmin, md5(body) from {table} order by 3")]


async def test_events_come_back_in_order(store: PostgresStore):
    await projected(store)
    made = events(600)
    assert await store.events.read(P, RUN) == made
    assert await store.events.read(P, RUN, after=250, upto=260) == made[250:260]
    assert await store.events.read(P, RUN, after=255, limit=300) == made[255:555]
    assert await store.events.read(P, RUN, after=590, limit=300) == made[590:]
    assert await store.events.read(P, RUN, after=600) == []
    assert await store.events.read(P, RUN, limit=0) == []
    assert await store.events.read(P, "0" * 32) == []


async def test_pages_cover_the_whole_run(store: PostgresStore):
    await projected(store, 2_500)
    pages = [page async for page in store.events.pages(P, RUN, after=7)]
    assert [event for page in pages for event in page] == events(2_500)[7:]
    assert len(pages) > 1


async def test_a_whole_page_is_decoded_once_until_it_is_projected_anew(store: PostgresStore, module_database_url: str):
    await projected(store)
    keeping = await connect(module_database_url, kept_pages=1)
    try:
        first = await keeping.events.read(P, RUN, upto=256)
        again = await keeping.events.read(P, RUN)
        assert again == events(600)
        assert all(one is other for one, other in zip(first, again, strict=False))
        assert await keeping.events.read(P, RUN, after=250, upto=260) == events(600)[250:260]
        await keeping.events.read(P, RUN, after=256, upto=512)  # takes the place of the first page
        assert (await keeping.events.read(P, RUN, upto=256))[0] is not first[0]
        other = [replace(events(600)[0], late=True), *events(600)[1:]]
        await finish(store, other)
        assert await keeping.events.read(P, RUN) == other
    finally:
        await keeping.close()


async def test_an_event_is_found_by_its_id(store: PostgresStore):
    await projected(store)
    for event in events(600)[::67]:
        assert await store.events.seq_of(P, RUN, event.id) == event.seq
        first = next(each for each in events(600) if each.span == event.span)
        assert await store.events.seq_of(P, RUN, event.span or "") == first.seq
    assert await store.events.seq_of(P, RUN, "no such event") is None


async def test_an_event_of_an_unknown_kind_is_kept_as_it_came(store: PostgresStore):
    told = {
        "id": "x.dreamt.0",
        "run": RUN,
        "seq": 4,
        "time_ns": 5,
        "kind": "dreamt",
        "data": {"of": "\x00\ud800"},
        "refs": {},
    }
    made = [*events(3), event_from_json(told), *[replace(event, seq=event.seq + 1) for event in events(9)[3:]]]
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    await finish(store, made)
    assert await store.events.read(P, RUN) == made
    assert isinstance((await store.events.read(P, RUN))[3], UnknownEvent)
    assert await store.events.seq_of(P, RUN, "x.dreamt.0") == 4


async def test_events_with_a_gap_are_refused(store: PostgresStore):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    with pytest.raises(ValueError, match="1, 2, 3"):
        await finish(store, events(5)[1:])
    assert await store.projections.has_unprojected_data(P, RUN)


async def test_projecting_again_writes_only_what_changed(store: PostgresStore, sql: asyncpg.Connection):
    await projected(store, 2_100)
    before = await versions(sql)
    await projected(store, 2_100)
    assert await versions(sql) == before
    await projected(store, 2_101)
    assert len(set(await versions(sql)) - set(before)) == 1
    await projected(store, 500)
    assert await store.events.read(P, RUN) == events(500)
    assert await store.events.snapshot(P, RUN, 2_000) is None


async def test_a_snapshot_has_the_whole_history(store: PostgresStore):
    await projected(store, 3_500)
    assert await store.events.snapshot(P, RUN, 999) is None
    for seq, at in ((1_000, 1_000), (2_999, 2_000), (10**12, 3_000)):
        assert await store.events.snapshot(P, RUN, seq) == fold(events(3_500)[:at])


async def test_a_second_worker_waits_for_the_first(store: PostgresStore, other_store: PostgresStore):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    seen: list[str] = []

    async def second() -> None:
        async with other_store.projections.locked_run(P, RUN) as work:
            assert work is not None
            seen.append("second")

    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        waiting = asyncio.create_task(second())
        # Ingest goes on meanwhile; by then the second has had every chance.
        await store.spans.ingest(P, Batch(spans=[span(2)]))
        seen.append("first")
        work.result = projection(events(3))
    await waiting
    assert seen == ["first", "second"]


async def test_who_need_not_wait_leaves_out_what_somebody_else_projects(
    store: PostgresStore, other_store: PostgresStore
):
    await store.spans.ingest(P, Batch(spans=[span(1, run=run_number(n)) for n in range(3)]))
    every = [run_number(n) for n in (2, 0, 1)]
    async with (
        store.projections.locked_run(P, run_number(1)),
        other_store.projections.locked_runs(P, every, wait=False) as works,
    ):
        assert [work.run for work in works] == [run_number(0), run_number(2)]


async def test_several_runs_are_stored_together(store: PostgresStore, sql: asyncpg.Connection):
    ids = [run_number(n) for n in range(4)]
    await store.spans.ingest(P, Batch(spans=[span(1, run=run) for run in ids]))
    for counts in ((300, 3, 700, 5), (400, 3, 100, 5)):
        async with store.projections.locked_runs(P, ids) as works:
            for work, count in zip(works, counts, strict=True):
                made = events(count, run=work.run)
                states = [fold(made[:seq]) for seq in range(100, count + 1, 100)]
                work.result = Projection(made, row(work.run, events=count), states)
            works[3].result = None
        assert [await store.events.read(P, run) for run in ids] == [
            *(events(count, run=run) for run, count in zip(ids[:3], counts[:3], strict=True)),
            [],
        ]
        assert await store.events.snapshot(P, ids[2], 700) == fold(events(counts[2] // 100 * 100, run=ids[2]))
        calls = "select count(*) from llm_call group by run_id order by run_id"
        assert [each[0] for each in await sql.fetch(calls)] == [count // 3 for count in counts[:3]]
        assert [each.run for each in await store.projections.unprojected_runs(9)] == [ids[3]]


async def test_runs_of_which_nothing_is_left_to_do_are_sealed_where_they_are(store: PostgresStore, clock: Clock):
    ids = [run_number(n) for n in range(4)]
    await store.spans.ingest(P, Batch(spans=[span(1, run=run) for run in ids]))
    async with store.projections.locked_runs(P, ids) as works:
        for work, ended_ns, settled in zip(works, (9, 9, None, 9), (True, False, True, True), strict=True):
            work.result = Projection(events(3, run=work.run), row(work.run, ended_ns=ended_ns), settled=settled)
    await store.spans.ingest(P, Batch(spans=[span(2, run=ids[3])]))
    assert await store.projections.seal(START_NS - 1, 10) == 0
    assert await store.projections.seal(START_NS, 10) == 1
    rows = [await store.runs.get(P, run) for run in ids]
    assert [each is not None and each.sealed for each in rows] == [True, False, False, False]
    assert await store.projections.sealable_runs(START_NS, START_NS, 10) == [(P, ids[1])]
    assert await store.projections.seal(START_NS, 10) == 0


async def test_spans_that_arrive_during_a_projection_keep_the_run_dirty(store: PostgresStore):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        await store.spans.ingest(P, Batch(spans=[span(2)]))
        work.result = projection(events(3))
    assert await store.projections.has_unprojected_data(P, RUN)
    await projected(store, 3)
    assert await store.projections.has_unprojected_data(P, RUN) is False


async def test_a_projection_that_fails_changes_nothing(store: PostgresStore):
    await projected(store, 10)
    await store.spans.ingest(P, Batch(spans=[span(2)]))
    with pytest.raises(RuntimeError, match="projector"):
        await finish(store, events(20), RuntimeError("the projector's"))
    assert len(await store.events.read(P, RUN)) == 10
    assert await store.projections.has_unprojected_data(P, RUN)


async def test_without_a_result_the_run_stays_as_it_was(store: PostgresStore):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        assert work.sealed is None
    assert await store.projections.has_unprojected_data(P, RUN)


async def test_there_is_no_work_on_a_run_that_is_not_there(store: PostgresStore):
    async with store.projections.locked_run(P, RUN) as work:
        assert work is None
    async with store.projections.locked_run(P, "no id at all") as work:
        assert work is None


async def test_a_sealed_run_shows_its_events_as_they_were_sealed(store: PostgresStore):
    await projected(store, 30, sealed=True, ended_ns=START_NS + 9)
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        assert work.sealed == events(30)


async def test_events_of_an_ended_run_are_kept_beside_its_spans_whatever_comes_later(
    store: PostgresStore, sql: asyncpg.Connection
):
    ended: dict[str, Any] = {"ended_ns": START_NS + 9}
    await projected(store, 30)
    assert await sql.fetchval("select beside from event_page") is None
    await projected(store, 30, **ended)
    assert await sql.fetchval("select beside from event_page") is not None
    before = await versions(sql)
    await projected(store, 30, **ended, sealed=True)
    assert await versions(sql) == before
    # Spans that come late change the page that the events were packed beside; more than a page's end that.
    for more in (1, 255, 256):
        await store.spans.ingest(P, Batch(spans=[span(more * 1_000 + n) for n in range(more)]))
        assert await store.events.read(P, RUN) == events(30)
        await projected(store, 30, **ended)
        assert await store.events.read(P, RUN) == events(30)
        assert await store.events.seq_of(P, RUN, events(30)[20].id) == 21
    assert await sql.fetchval("select beside from event_page") is None


async def test_a_run_can_be_sealed_when_it_has_ended_is_projected_and_quiet(store: PostgresStore, clock: Clock):
    await projected(store, 3)
    assert await store.projections.sealable_runs(START_NS, START_NS, 10) == []
    await projected(store, 3, ended_ns=START_NS + 9)
    assert await store.projections.sealable_runs(START_NS - 1, START_NS - 1, 10) == []
    assert await store.projections.sealable_runs(START_NS, START_NS, 10) == [(P, RUN)]
    clock.now_ns += 1
    await store.spans.ingest(P, Batch(spans=[span(2)]))
    assert await store.projections.sealable_runs(START_NS + 1, START_NS + 1, 10) == []
    await projected(store, 3, ended_ns=START_NS + 9)
    assert await store.projections.sealable_runs(START_NS, START_NS, 10) == []
    await projected(store, 3, ended_ns=START_NS + 9, sealed=True)
    assert await store.projections.sealable_runs(START_NS + 99, START_NS + 99, 10) == []


async def test_a_run_of_which_another_process_has_an_open_call_waits_until_that_is_lost(store: PostgresStore):
    await projected(store, 3, ended_ns=START_NS + 9, processes_open=1)
    assert await store.projections.sealable_runs(START_NS, START_NS - 1, 10) == []
    assert await store.projections.sealable_runs(START_NS, START_NS, 10) == [(P, RUN)]


async def test_the_summary_is_that_of_the_projection(store: PostgresStore):
    await projected(store, 3, tags=("a", "b"), user="u", fork_of="x", context_peak=7, ended_ns=START_NS + 1)
    made = row(tags=("a", "b"), user="u", fork_of="x", context_peak=7, ended_ns=START_NS + 1, parent_missing=True)
    assert await store.runs.get(P, RUN) == made
