"""What sealed runs name is packed: nobody who reads or stores sees a difference, and it takes less."""

import asyncio
from contextlib import suppress

import asyncpg
import pytest

from playhead.model.canonical import Content, content_of
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.thread import Thread
from playhead.projection.inputs import RunInput
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.errors import StoreCollision
from playhead_collector.projection import ProjectionRunner
from playhead_collector.retain.packer import Packer
from playhead_collector.store.packing.content_packs import LARGEST_PACKED
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import sealing
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import (
    RUN,
    Clock,
    P,
    after,
    message,
    ref_of,
    run_number,
    span,
    thread,
    whole,
)
from tests.support.database_sessions import wait_for_end_of_snapshots
from tests.support.made_up_runs import MadeUpRun

OTHER = run_number(1)
# Of a made-up run: the last tool result, and the thread that the next model call would have had.
UNNAMED = (1, 2)


def texts_of(made: Thread, *texts: str) -> list[Content]:
    """Messages of `thread(*texts)`."""
    contents = [message("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(texts)]
    assert [each.ref for each in contents] == [node.message for node in made.nodes]
    return contents


async def pack(store: PostgresStore, run: str = RUN) -> int:
    return await store.projections.pack([UnpackedRun(P, run, 1)])


async def rows(sql: asyncpg.Connection) -> tuple[int, int]:
    """Contents and thread nodes that are rows."""
    return (
        await sql.fetchval("select count(*) from content"),
        await sql.fetchval("select count(*) from thread_node"),
    )


async def ingest(store: PostgresStore, run: MadeUpRun) -> None:
    await store.contents.put(P, run.contents.values(), run.threads)
    await store.spans.ingest(P, Batch(run.spans))


async def read(store: PostgresStore, run: MadeUpRun) -> object:
    """All that a run names, and what is made of it."""
    contents = await store.contents.get_many(P, list(run.contents))
    tips = [ref for span in run.spans for ref in thread_refs(span)]
    threads = [await store.contents.thread(P, tip) for tip in tips]
    async with store.projections.locked_runs(P, [run.run]) as works:
        given = RunInput(run.run, works[0].spans, works[0].logs, works[0].nodes, works[0].roles, None, 0)
        events = project(given, 0, ProjectSettings()).events
    nodes = await store.contents.get_many(P, [node.ref for made in threads for node in made])
    return contents, threads, nodes, events


def thread_refs(span: Span) -> list[ContentRef]:
    return [ContentRef(value) for name, value in span.attributes.items() if name.endswith("messages_ref")]


@pytest.mark.parametrize("moved", [1_000, 7])
async def test_what_is_packed_reads_as_before(
    store: PostgresStore, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch, moved: int
):
    monkeypatch.setattr(sealing, "_MOVED", moved)
    run = MadeUpRun(30)
    await ingest(store, run)
    before = await read(store, run)
    contents, nodes = await rows(sql)
    size = await sql.fetchval("select sum(octet_length(body)) from content")
    assert await pack(store, run.run) + sum(UNNAMED) == contents + nodes > 100
    assert await rows(sql) == UNNAMED
    assert await read(store, run) == before
    if moved == 1_000:
        assert await sql.fetchval("select sum(octet_length(body)) from content_pack") < size / 2
    assert await pack(store, run.run) == 0


@pytest.mark.parametrize("moved", [1_000, 2, 3, 5])
async def test_threads_that_go_on_from_packed_ones_are_whole(
    store: PostgresStore, other_store: PostgresStore, monkeypatch: pytest.MonkeyPatch, moved: int
):
    """Before and while they are packed, at their end and in their middle, by another run that is packed, too."""
    monkeypatch.setattr(sealing, "_MOVED", moved)
    base = [f"{n}" for n in range(9)]
    made = thread(*base)
    grown = [thread(*base, "on"), thread(*base[:4], "fork"), thread(*base[:6], "fork", "of", "another")]
    await store.contents.put(P, texts_of(made, *base), [whole(made)])
    await store.contents.put(P, [], [after(made, grown[0]), after(thread(*base[:4]), grown[1])])
    await store.spans.ingest(P, Batch(spans=[span(1, INPUT_MESSAGES_REF=ref_of(made))]))
    await pack(store)
    await other_store.contents.put(P, [], [after(thread(*base[:6]), grown[2])])
    grown += [thread(*base, "on", "and on"), thread(*base[:4], "fork", "on"), thread(*base, "late")]
    await store.contents.put(P, [], [after(grown[0], grown[3]), after(grown[1], grown[4]), after(made, grown[5])])

    async def check() -> None:
        for each in (made, *grown):
            for reader in (store, other_store):
                assert list(await reader.contents.thread(P, ref_of(each))) == list(each.nodes)

    await check()
    named = [span(n, run=OTHER, INPUT_MESSAGES_REF=ref_of(each)) for n, each in enumerate(grown, 1)]
    await store.spans.ingest(P, Batch(spans=named))
    await pack(other_store, OTHER)
    await check()


async def test_content_that_is_packed_is_not_stored_again(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection
):
    prompt, made = content_of("You are an agent. " * 100), thread("hello", "hi")
    contents = [prompt, *texts_of(made, "hello", "hi")]
    refs = [*(each.ref for each in contents), ref_of(made)]
    for n, through in enumerate([store, other_store, store]):
        run = run_number(n)
        spans = [span(1, run=run, INPUT_REF=prompt.ref), span(2, run=run, INPUT_MESSAGES_REF=ref_of(made))]
        await through.spans.ingest(P, Batch(spans, contents=contents, threads=[whole(made)]))
        assert not await through.contents.missing(P, refs)
        await pack(through, run)
        assert await rows(sql) == (0, 0)
        assert await sql.fetchval("select sum(cardinality(keys)) from content_pack") == 5
    assert await sql.fetchval("select count(*) from pending_ref") == 0
    assert await store.contents.missing(2, refs) == refs


async def test_content_that_a_run_waits_for_may_be_packed(store: PostgresStore, clock: Clock):
    """It came in a transaction that did not see that anybody waited, and was packed before the run was projected."""
    late = content_of("late")
    await store.contents.put(P, [late])
    assert not await store.contents.is_awaited(P, late.ref)
    await store.spans.ingest(P, Batch([span(1, run=OTHER, INPUT_REF=late.ref)]))
    await store.spans.ingest(P, Batch([span(1, INPUT_REF=late.ref)]))
    await pack(store, OTHER)
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=30)
    await runner.project_now(P, RUN)
    row = await store.runs.get(P, RUN)
    assert row is not None
    assert row.content_pending == 0


async def test_large_contents_stay_rows_and_media_types_are_kept(store: PostgresStore, sql: asyncpg.Connection):
    contents = [
        Content(b"x" * (LARGEST_PACKED + 1), "text/plain; charset=utf-8"),
        Content(b"\x00small", "image/x-icon"),
        Content(b"", "application/octet-stream"),
    ]
    await store.contents.put(P, contents)
    await store.spans.ingest(P, Batch([span(n, INPUT_REF=each.ref) for n, each in enumerate(contents, 1)]))
    before = await store.contents.get_many(P, [each.ref for each in contents])
    assert await pack(store) == 2
    assert (await rows(sql))[0] == 1
    found = await store.contents.get_many(P, [each.ref for each in contents])
    assert found == before
    refs = [each.ref.plain for each in contents]
    beginnings = [ref.digest[:16] for ref in (*refs, ContentRef.of(b"elsewhere"))]
    assert {ref.plain for ref in await store.contents.refs_with_prefix(P, beginnings)} == set(refs)
    assert await store.contents.refs_with_prefix(2, beginnings) == []
    assert found[contents[1].ref].media_type == "image/x-icon"


async def test_two_collectors_pack_what_runs_share_once(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection
):
    made = thread(*(f"{n}" for n in range(20)))
    contents = texts_of(made, *(f"{n}" for n in range(20)))
    for run in (RUN, OTHER):
        await store.spans.ingest(
            P, Batch([span(1, run=run, INPUT_MESSAGES_REF=ref_of(made))], contents=contents, threads=[whole(made)])
        )

    async def pack_until_done(through: PostgresStore, run: str) -> None:
        for _ in range(20):
            with suppress(StoreCollision):
                await pack(through, run)
                return

    await asyncio.gather(pack_until_done(store, RUN), pack_until_done(other_store, OTHER))
    assert await rows(sql) == (0, 0)
    assert await sql.fetchval("select sum(cardinality(keys)) from content_pack") == 40
    assert list(await store.contents.thread(P, ref_of(made))) == list(made.nodes)


async def test_a_sealed_run_is_packed_and_what_arrives_later_too(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    run, runner = MadeUpRun(5), ProjectionRunner(store.projections, clock=clock, seal_after_s=30)
    packer = Packer(store.projections, clock=clock)
    root, *spans = run.spans
    await store.contents.put(P, run.contents.values(), run.threads)
    await store.spans.ingest(P, Batch([root, *spans[:-2]]))
    await runner.run_once()
    assert (await rows(sql))[0] > 0
    clock.now_ns += 10**11
    await runner.run_once()
    await packer.run_once()
    assert runner.counts["sealed"] == packer.counts["packed"] == 1
    left = await rows(sql)
    await store.spans.ingest(P, Batch(spans[-2:]))
    clock.now_ns += 10**11
    await runner.run_once()
    await packer.run_once()
    assert packer.counts["packed"] == 2
    assert left > await rows(sql) == UNNAMED
    assert await sql.fetchval("select count(*) from packing_due") == 0
    events = await store.events.read(P, run.run)
    assert [each for each in events if each.late]
    assert {span.span_id for span in await store.spans.read(P, run.run)} == {span.span_id for span in run.spans}


async def test_space_is_given_back_when_nothing_is_left_to_pack(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    run, runner = MadeUpRun(400), ProjectionRunner(store.projections, clock=clock, seal_after_s=0)
    packer = Packer(store.projections, clock=clock)
    await ingest(store, run)
    size = "select pg_total_relation_size('content') + pg_total_relation_size('thread_node')"
    before = await sql.fetchval(size)
    clock.now_ns += 10**9
    await runner.run_once()
    await runner.run_once()
    await packer.run_once()
    assert packer.counts["packed"] == 1
    await wait_for_end_of_snapshots(sql)
    async with asyncio.timeout(60):
        while await sql.fetchval(size) >= before / 3:  # it tries again when autovacuum is at work on a table
            await packer.run_once()
    assert (await store.contents.get_many(P, list(run.contents))).keys() == run.contents.keys()
    assert len(await store.contents.thread(P, thread_refs(run.spans[-2])[0])) == 799
