import asyncio

import asyncpg
import pytest

from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead_collector.store.ports.spans import Batch, Ingested
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import (
    RUN,
    START_NS,
    TRACE,
    Clock,
    P,
    events,
    json,
    log,
    message,
    projection,
    run_number,
    span,
    started,
    thread,
    whole,
)


async def project(store: PostgresStore, run: str = RUN, **fields: object) -> None:
    async with store.projections.locked_run(P, run) as work:
        assert work is not None
        work.result = projection(events(3, run=run), **fields)


async def test_spans_come_back_by_start_time(store: PostgresStore):
    spans = [span(n) for n in (3, 1, 2)]
    assert await store.spans.ingest(P, Batch(spans=spans)) == Ingested(3, 0)
    assert await store.spans.read(P, RUN) == sorted(spans, key=lambda each: each.start_ns)


async def test_a_span_keeps_all_that_it_says(store: PostgresStore):
    said = Span(
        TRACE, "c" * 16, "d" * 16, "chat \x00 \ud800 gpt", 0, START_NS * 7, {"\x00": "\x00", "big": 2**70, "n": None},
        3, 2, "it broke \x00", [SpanEvent("exception", START_NS, {"x": [1.5, "a", True]})],
        [{"trace_id": "e" * 32, "span_id": "f" * 16, "attributes": {"a": "null"}}], "lib",
        {"service": {"deep": [None]}},
    )  # fmt: skip
    noted = LogEvent(
        names.STATE_CHANGED, START_NS, TRACE, None, {names.STATE_KEY: "a\x00b", "nan": "x"}, "lib", {"r": 1}
    )
    await store.spans.ingest(P, Batch(spans=[said], logs=[noted]))
    assert await store.spans.read(P, TRACE) == [said]
    assert await store.spans.logs(P, TRACE) == [noted]


async def test_a_span_without_a_run_belongs_to_the_run_named_by_its_trace(store: PostgresStore):
    nameless, odd = span(1, run=None), span(2, run="not a run id")
    await store.spans.ingest(P, Batch(spans=[nameless, odd]))
    assert await store.spans.read(P, TRACE) == [nameless, odd]
    assert await store.spans.read(P, "not a run id") == []


async def test_spans_of_several_runs_in_one_batch_go_where_they_belong(store: PostgresStore):
    spans = [span(n, run=run_number(n % 3)) for n in range(9)]
    await store.spans.ingest(P, Batch(spans=spans))
    for n in range(3):
        assert [each.span_id for each in await store.spans.read(P, run_number(n))] == [
            f"{m:016x}" for m in range(n, 9, 3)
        ]


async def test_the_same_batch_again_is_no_news(store: PostgresStore):
    batch = Batch(spans=[span(1), span(2)], logs=[log(3), started(4)])
    await store.spans.ingest(P, batch)
    await project(store)
    assert await store.spans.ingest(P, batch) == Ingested(2, duplicates=2)
    assert await store.projections.has_unprojected_data(P, RUN) is False
    assert len(await store.spans.read(P, RUN)) == 3


async def test_the_same_span_in_another_batch_changes_nothing(store: PostgresStore):
    await store.spans.ingest(P, Batch(spans=[span(1), span(2)], logs=[log(3)]))
    before = await store.spans.read(P, RUN)
    await store.spans.ingest(P, Batch(spans=[span(2), span(1)], logs=[log(3)]))
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    assert await store.spans.read(P, RUN) == before
    assert await store.spans.logs(P, RUN) == [log(3)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["announced first", "ended first"])
async def test_an_ended_span_replaces_its_announcement_never_the_other_way(
    store: PostgresStore, order: tuple[int, int]
):
    batches = [Batch(logs=[started(2)]), Batch(spans=[span(2)])]
    for n in order:
        await store.spans.ingest(P, batches[n])
    assert await store.spans.read(P, RUN) == [span(2)]
    assert await store.spans.logs(P, RUN) == []


async def test_an_announcement_is_a_span_without_an_end(store: PostgresStore):
    await store.spans.ingest(P, Batch(logs=[started(1), started(2)]))
    assert await store.spans.read(P, RUN) == [span(1, ended=False), span(2, ended=False)]


async def test_log_events_come_back_by_time(store: PostgresStore):
    await store.spans.ingest(P, Batch(logs=[log(3), log(1)]))
    await store.spans.ingest(P, Batch(logs=[log(2)]))
    assert await store.spans.logs(P, RUN) == [log(1), log(2), log(3)]


async def test_a_log_event_that_belongs_to_no_run_is_left_out(store: PostgresStore):
    await store.spans.ingest(
        P, Batch(logs=[LogEvent("x", START_NS, None, None, {}), LogEvent(names.STARTED, 1, TRACE, None, {})])
    )
    assert await store.runs.get(P, TRACE) is None


async def test_a_run_is_listed_from_its_first_span_on(store: PostgresStore, sql: asyncpg.Connection):
    await store.spans.ingest(P, Batch(spans=[span(2), span(1, RUN_NAME="sh\x00op")]))
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert (row.name, row.status, row.started_ns) == ("sh\ufffdop", "running", START_NS + 1_000)
    assert [each[:2] for each in await store.projections.unprojected_runs(10)] == [(P, RUN)]
    stored = "select sum(octet_length(body)) from span_page"
    assert (await store.projections.unprojected_runs(10))[0].bytes == await sql.fetchval(stored) > 0


async def test_runs_that_wait_to_be_projected_are_found_by_project(store: PostgresStore):
    for project, run in ((P, RUN), (P + 1, run_number(5)), (P + 1, run_number(6))):
        await store.spans.ingest(project, Batch(spans=[span(1, run=run)]))
    found = await store.projections.unprojected_runs(10, P + 1)
    assert [(each.project_id, each.run) for each in found] == [(P + 1, run_number(5)), (P + 1, run_number(6))]
    assert all(each.bytes for each in found)
    assert len(await store.projections.unprojected_runs(1, P + 1)) == 1
    assert len(await store.projections.unprojected_runs(10)) == 3


async def test_refs_that_spans_name_and_that_are_not_here_are_pending(store: PostgresStore):
    here, absent, talk = json({"a": 1}), ContentRef.of(b"absent"), thread("hi")
    batch = Batch(
        spans=[span(1, INPUT_REF=here.ref, OUTPUT_REF=absent, INPUT_MESSAGES_REF=talk.ref, ERROR_REF="gs://theirs/1")],
        contents=[here],
        threads=[whole(talk)],
    )
    assert (await store.spans.ingest(P, batch)).pending == (absent,)
    await project(store)
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert row.content_pending == 1


async def test_content_that_comes_later_wakes_the_runs_that_wait_for_it(store: PostgresStore):
    content, talk = Content(b"late", "text/plain"), thread("late too")
    for run in (RUN, run_number(5)):
        named = span(1, run=run, INPUT_REF=content.ref, INPUT_MESSAGES_REF=talk.ref)
        assert set((await store.spans.ingest(P, Batch(spans=[named]))).pending) == {content.ref, talk.ref}
        await project(store, run)
    assert await store.projections.unprojected_runs(10) == []
    await store.contents.put(P, [content])
    assert len(await store.projections.unprojected_runs(10)) == 2
    await project(store)
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert row.content_pending == 1
    await store.spans.ingest(P, Batch(threads=[whole(talk)]))
    assert await store.projections.has_unprojected_data(P, RUN)
    await project(store)
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert row.content_pending == 0


async def test_projecting_counts_what_came_unseen(store: PostgresStore, sql: asyncpg.Connection):
    content = Content(b"here", "text/plain")
    await store.spans.ingest(P, Batch(spans=[span(1)], contents=[content]))
    await sql.execute("insert into pending_ref values (1, $1, $2)", RUN, content.ref.digest)
    await project(store)
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert row.content_pending == 0


async def test_work_has_the_nodes_and_roles_of_every_thread_that_is_named(store: PostgresStore):
    asked, forked, gone = thread("a", "b", "c"), thread("a", "x"), thread("never sent")
    spans = [span(n, INPUT_MESSAGES_REF=each.ref) for n, each in enumerate((asked, forked, gone), 1)]
    contents = [content for each in (asked, forked) for content in each.contents][:2]
    await store.spans.ingest(P, Batch(spans, contents=contents, threads=[whole(asked), whole(forked)]))
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        assert work.nodes == {node.ref: node for node in (*asked.nodes, *forked.nodes)}
        assert work.roles == {asked.nodes[0].message: "user", asked.nodes[1].message: "assistant"}
        assert work.spans == spans
        assert work.last_arrival_ns == START_NS


async def test_the_role_is_that_of_the_message_and_no_other(store: PostgresStore):
    for text in ('"role":"tool"}', 'x","role":"user"}]'):
        talk = message("system", text)
        await store.contents.put(P, [talk])
    one = thread('quotes "role":"tool"}', "b")
    await store.spans.ingest(
        P, Batch([span(1, INPUT_MESSAGES_REF=one.ref)], contents=one.contents, threads=[whole(one)])
    )
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        assert [work.roles[node.message] for node in one.nodes] == ["user", "assistant"]


async def test_many_small_batches_become_few_pages(store: PostgresStore, sql: asyncpg.Connection):
    for n in range(1, 41):
        await store.spans.ingest(P, Batch(spans=[span(n)], logs=[started(n)]))
    before = await store.spans.read(P, RUN)
    await project(store)
    assert await sql.fetchval("select count(*) from span_page") == 1
    assert await store.spans.read(P, RUN) == before
    assert await sql.fetchval("select items from span_page") == 40
    # Late copies go away again when the run has ended.
    await store.spans.ingest(P, Batch(spans=[span(7)]))
    await project(store, ended_ns=START_NS)
    assert await sql.fetchval("select count(*) from span_page") == 1
    assert await store.spans.read(P, RUN) == before


async def test_a_big_run_keeps_its_full_pages(store: PostgresStore, sql: asyncpg.Connection):
    await store.spans.ingest(P, Batch(spans=[span(n) for n in range(1, 701)]))
    full = await sql.fetch("select page, xmin from span_page where items = 256 order by page")
    for n in range(701, 721):
        await store.spans.ingest(P, Batch(spans=[span(n)]))
    await project(store)
    assert (
        await sql.fetch("select page, xmin from span_page where page = any($1) order by page", [p for p, _ in full])
        == full
    )
    assert await sql.fetchval("select count(*) from span_page") == 3
    assert await store.spans.read(P, RUN) == [span(n) for n in range(1, 721)]


async def test_batches_of_the_same_runs_at_once_do_not_hinder_each_other(
    store: PostgresStore, other_store: PostgresStore
):
    def batch(n: int) -> Batch:
        runs = [run_number(m) for m in (range(10) if n % 2 else range(9, -1, -1))]
        contents = [json({"n": m}) for m in range(20)][:: 1 if n % 3 else -1]
        return Batch([span(n, run=run, INPUT_REF=contents[0].ref) for run in runs], contents=contents)

    await asyncio.gather(*((store, other_store)[n % 2].spans.ingest(P, batch(n)) for n in range(1, 25)))
    for m in range(10):
        assert len(await store.spans.read(P, run_number(m))) == 24


async def test_news_are_counted_from_the_first_until_projected(store: PostgresStore, clock: Clock):
    await store.spans.ingest(P, Batch(spans=[span(1, run=run_number(1))]))
    clock.now_ns += 5
    await store.spans.ingest(P, Batch(spans=[span(1, run=run_number(2))]))
    await store.spans.ingest(P, Batch(spans=[span(2, run=run_number(1))]))
    assert [each.run for each in await store.projections.unprojected_runs(10)] == [run_number(1), run_number(2)]
    assert [each.run for each in await store.projections.unprojected_runs(1)] == [run_number(1)]
    assert await store.projections.has_unprojected_data(P, RUN) is None


async def test_projects_take_turns_to_be_projected(store: PostgresStore):
    blue = await store.projects.create("blue")
    assert blue is not None
    for number in range(30):
        await store.spans.ingest(P, Batch(spans=[span(1, run=f"{number:032x}")]))
    for number in range(2):
        await store.spans.ingest(blue.number, Batch(spans=[span(1, run=f"{number:032x}")]))
    projects = [run.project_id for run in await store.projections.unprojected_runs(10)]
    assert [set(projects[:2]), set(projects[2:4]), set(projects[4:])] == [{P, blue.number}, {P, blue.number}, {P}]
