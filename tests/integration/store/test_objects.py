"""Contents in the object store: they are read as before, nothing that is named is lost, and no object stays behind."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest

from playhead.model.canonical import Content, content_of
from playhead.model.ref import ContentRef
from playhead_collector.errors import ContentCorrupt, ContentMissing, ObjectStoreUnavailable, StoreUnavailable
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.objects import part_digest
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import objects as postgres_objects
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import RUN, Clock, P, after, message, ref_of, run_number, span, thread, whole
from tests.support.faulty_objects import FaultyObjects

KIB = 1024
LEAST = 64 * KIB
DAY_NS = 86_400 * 1_000_000_000
OTHER = run_number(1)


@pytest.fixture
def objects(tmp_path: Path) -> FaultyObjects:
    return FaultyObjects(open_object_store(f"file://{tmp_path}/objects", 10))


def large(number: int, size: int = 100 * KIB) -> Content:
    """A content that cannot be compressed."""
    return Content(random.Random(number).randbytes(size), "application/octet-stream")


async def record(store: PostgresStore, run: str, contents: Sequence[Content]) -> None:
    spans = [span(number, run=run, INPUT_REF=content.ref) for number, content in enumerate(contents, 1)]
    await store.spans.ingest(P, Batch(spans=spans, contents=list(contents)))


async def move_all(store: PostgresStore) -> int:
    """Moves all large contents, and deletes their bodies from Postgres."""
    moved = 0
    while (done := await store.moves.move_content(LEAST)).items:
        moved += done.items
    while await store.objects.check_and_settle(0, 100):
        pass
    return moved


async def move_packs(store: PostgresStore, sql: asyncpg.Connection) -> int:
    packs = [row["pack"] for row in await sql.fetch("select pack from content_pack order by pack")]
    moved = await store.moves.move_packs(P, packs)
    while await store.objects.check_and_settle(0, 100):
        pass
    return moved.items


async def clean(store: PostgresStore) -> None:
    """All that the mover does in time."""
    while not (await store.moves.tidy())[1]:
        pass
    while await store.objects.delete_doomed(0):
        pass


async def sweep(store: PostgresStore, clock: Clock) -> None:
    clock.days_pass(3)
    while (await store.garbage.sweep_step(P, DAY_NS)).phase is not None:
        pass


async def packed_run(store: PostgresStore, run: str = RUN, *texts: str) -> list[Content]:
    """A sealed run with a thread, in packs."""
    words = texts or ("hello", "hi", "more", "yes")
    made = thread(*words)
    contents = [message("user" if n % 2 == 0 else "assistant", word) for n, word in enumerate(words)]
    spans = [span(1, run=run, INPUT_MESSAGES_REF=ref_of(made))]
    await store.spans.ingest(P, Batch(spans=spans, contents=contents, threads=[whole(made)]))
    await store.projections.pack([UnpackedRun(P, run, 1)])
    return contents


# --- moving and reading ----------------------------------------------------------------------------------------------


async def test_large_contents_move_to_objects_of_their_own_and_are_read_as_before(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    contents, small = [large(1), large(2, 3_000 * KIB)], content_of("small")
    await record(store, RUN, [*contents, small])
    refs = [each.ref for each in [*contents, small]]
    before = await store.contents.get_many(P, refs)
    assert await store.moves.large_waiting(LEAST) == 2
    assert await move_all(store) == 2
    assert await store.moves.large_waiting(LEAST) == 0
    assert await sql.fetchval("select count(*) from content where body is null") == 2
    assert await other_store.contents.get_many(P, refs) == before
    assert len(await objects.keys()) == 2
    assert {key.split("/")[:2] == ["1", "2025-10"] for key in await objects.keys()} == {True}
    named = " ".join(await objects.keys())
    assert not any(ref.digest.hex()[:8] in named for ref in refs)
    sizes = await store.objects.sizes(P)
    assert (sizes.objects, sizes.bytes) == (2, sizes.named_bytes) == (2, sum(len(each.data) for each in contents))
    assert await store.objects.sizes(2) != sizes


async def test_a_row_keeps_its_bytes_until_the_object_has_been_there_for_a_while(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    content = large(1)
    await record(store, RUN, [content])
    await store.moves.move_content(LEAST)
    assert await store.objects.check_and_settle(60, 100) == 0
    objects.is_down = True
    assert (await other_store.contents.get(P, content.ref)).data == content.data
    objects.is_down = False
    assert await store.objects.check_and_settle(0, 100) == 1
    assert await sql.fetchval("select body from content where object is not null") is None


async def test_packs_move_together_into_one_object_and_are_read_in_one_request(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    contents = [
        each for n in range(8) for each in await packed_run(store, run_number(n), *(f"{w} {n}" for w in "abcd"))
    ]
    refs = [content.ref for content in contents]
    before = await store.contents.get_many(P, refs)
    packs = await sql.fetchval("select count(*) from content_pack")
    in_postgres = await sql.fetchval("select sum(octet_length(body)) from content_pack")
    assert await move_packs(store, sql) == packs > 4
    assert len(await objects.keys()) == 1
    objects.counts.clear()
    assert await other_store.contents.get_many(P, refs) == before
    assert objects.counts == {"get": 1}
    assert (await store.objects.sizes(P)).named_bytes == in_postgres
    assert await move_packs(store, sql) == 0


async def test_packs_that_would_hardly_get_smaller_stay_if_that_is_asked_for(
    store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    texts = random.Random(3).randbytes(40_000).hex()
    await packed_run(store, RUN, *(texts[n * 9_000 : n * 9_000 + 9_000] for n in range(4)))
    await packed_run(store, OTHER, *"abcd")
    packs = [row["pack"] for row in await sql.fetch("select pack from content_pack order by pack")]
    assert (await store.moves.move_packs(P, packs, if_smaller=True)).items == len(packs) - 1
    assert await sql.fetchval("select count(*) from content_pack where object is null") == 1
    objects.counts.clear()
    assert (await store.moves.move_packs(P, packs, if_smaller=True)).items == 0
    assert objects.counts == {}
    assert set(await store.contents.get_many(P, [message("user", "a").ref])) == {message("user", "a").ref}
    assert (await store.moves.move_packs(P, packs)).items == 1


async def test_all_but_the_bytes_of_moved_packs_is_answered_without_the_object_store(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    contents = await packed_run(store)
    tip = thread("hello", "hi", "more", "yes")
    await move_packs(store, sql)
    objects.is_down = True
    refs = [content.ref for content in contents]
    assert await other_store.contents.missing(P, [*refs, ref_of(tip)]) == []
    assert await other_store.contents.refs_with_prefix(P, [refs[0].digest[:16]]) == [refs[0]]
    assert [node.ref for node in await other_store.contents.thread(P, ref_of(tip))] == [node.ref for node in tip.nodes]
    longer = thread("hello", "hi", "more", "yes", "on")
    batch = Batch(
        spans=[span(1, run=OTHER, INPUT_MESSAGES_REF=ref_of(longer))],
        contents=[message("user", "on"), contents[0]],
        threads=[after(tip, longer)],
    )
    await other_store.spans.ingest(P, batch)
    assert len(await other_store.contents.thread(P, ref_of(longer))) == 5
    assert await sql.fetchval("select count(*) from content") == 1  # what is packed is not stored again
    with pytest.raises(ObjectStoreUnavailable):
        await other_store.contents.get_many(P, refs)


# --- an object store that fails --------------------------------------------------------------------------------------


async def test_a_failing_object_store_is_not_asked_again_at_once(
    store: PostgresStore, other_store: PostgresStore, objects: FaultyObjects, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(postgres_objects, "_FAILING_SECONDS", 3_600.0)
    content, small = large(1), content_of("small")
    await record(store, RUN, [content, small])
    await move_all(store)
    objects.is_down, objects.counts = True, {}
    for _ in range(3):
        with pytest.raises(ObjectStoreUnavailable, match="is down"):
            await other_store.contents.get(P, content.ref)
        assert (await other_store.contents.get(P, small.ref)).data == small.data
    assert objects.counts == {"get": 1}


async def test_few_questions_wait_for_a_slow_object_store_and_the_others_are_told_soon(
    store: PostgresStore, other_store: PostgresStore, objects: FaultyObjects
):
    contents = [large(n) for n in range(5)]
    await record(store, RUN, contents)
    await move_all(store)
    answered = asyncio.Event()

    async def wait(_: str) -> None:
        await answered.wait()

    objects.before = wait
    asked = [asyncio.create_task(other_store.contents.get(P, content.ref)) for content in contents]
    done, waiting = await asyncio.wait(asked, timeout=30, return_when=asyncio.FIRST_EXCEPTION)
    while len(done) < 3:
        more, waiting = await asyncio.wait(waiting, timeout=30, return_when=asyncio.FIRST_EXCEPTION)
        done |= more
    assert [str(task.exception()) for task in done] == [
        "the object store is slow, and other questions wait for it: ask again later"
    ] * 3
    answered.set()
    assert len(await asyncio.gather(*waiting)) == 2


@pytest.mark.parametrize(
    "garble", [lambda data: data[:-1], lambda data: b"x" + data[1:], lambda _: b""], ids=["short", "other", "nothing"]
)
async def test_other_bytes_than_were_written_are_told(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects, garble: object
):
    contents = [large(1), *await packed_run(store)]
    await record(store, OTHER, contents[:1])
    await move_all(store)
    await move_packs(store, sql)
    objects.garble = garble  # type: ignore[assignment]
    for content in contents[:2]:
        with pytest.raises(ContentCorrupt, match="other bytes"):
            await other_store.contents.get(P, content.ref)
    objects.garble = None
    assert (await other_store.contents.get(P, contents[1].ref)).data == contents[1].data


async def test_an_object_that_is_gone_is_told(store: PostgresStore, other_store: PostgresStore, objects: FaultyObjects):
    content = large(1)
    await record(store, RUN, [content])
    await move_all(store)
    await objects.store.delete(await objects.keys())
    with pytest.raises(ContentCorrupt, match="any more: restore"):
        await other_store.contents.get(P, content.ref)


async def test_what_cannot_be_written_stays_and_leaves_nothing_behind(
    store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    content = large(1)
    await record(store, RUN, [content])
    objects.is_full = True
    with pytest.raises(ObjectStoreUnavailable, match="507"):
        await store.moves.move_content(LEAST)
    objects.is_full, objects.garble = False, lambda data: data[::-1]
    with pytest.raises(ObjectStoreUnavailable, match="other bytes than were written"):
        await store.moves.move_content(LEAST)
    objects.garble = None
    assert await sql.fetchval("select count(*) from content where object is null and body is not null") == 1
    await clean(store)
    assert await objects.keys() == []
    assert await sql.fetchval("select count(*) from stored_object") == 0
    assert await move_all(store) == 1


async def test_an_object_that_is_lost_before_its_rows_are_emptied_costs_nothing(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    content, packed = large(1), await packed_run(store)
    await record(store, OTHER, [content])
    await store.moves.move_content(LEAST)
    await store.moves.move_packs(P, [row["pack"] for row in await sql.fetch("select pack from content_pack")])
    await objects.store.delete(await objects.keys())
    assert await store.objects.check_and_settle(0, 100) == 2
    refs = [content.ref, packed[0].ref]
    assert set(await other_store.contents.get_many(P, refs)) == set(refs)
    await clean(store)
    assert await sql.fetchval("select count(*) from stored_object") == 0
    assert await move_all(store) == 1
    assert await move_packs(store, sql) > 0


# --- deleting --------------------------------------------------------------------------------------------------------


async def test_objects_go_when_no_run_names_what_is_in_them(store: PostgresStore, clock: Clock, objects: FaultyObjects):
    own, shared = large(1), large(2)
    await record(store, RUN, [own, shared])
    await record(store, OTHER, [shared])
    await move_all(store)
    await store.garbage.delete_run(P, RUN, forks=False)
    await sweep(store, clock)
    with pytest.raises(ContentMissing):
        await store.contents.get(P, own.ref)
    await store.moves.tidy()
    assert await store.objects.delete_doomed(3_600) == 0  # somebody may be reading it
    assert len(await objects.keys()) == 2
    await clean(store)
    assert len(await objects.keys()) == 1
    assert (await store.contents.get(P, shared.ref)).data == shared.data
    assert await store.objects.unknown_keys() == []


async def test_what_a_moved_content_names_stays_and_no_sweep_reads_objects(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock, objects: FaultyObjects
):
    inner = content_of("named by a large one")
    outer = Content(b'"' + random.Random(1).randbytes(100 * KIB).hex().encode() + str(inner.ref).encode() + b'"', "x/y")
    await record(store, RUN, [outer])
    await store.contents.put(P, [inner])
    contents = await packed_run(store, OTHER)
    await packed_run(store, run_number(2), "gone", "with", "its", "run")
    await move_all(store)
    await move_packs(store, sql)
    await store.garbage.delete_run(P, run_number(2), forks=False)
    clock.days_pass(3)
    objects.counts.clear()
    phases = []
    with suppress(ObjectStoreUnavailable):
        objects.is_down = True
        while (phase := (await store.garbage.sweep_step(P, DAY_NS)).phase) is not None:
            phases.append(phase)
    objects.is_down = False
    assert phases[-1] == "packed_nodes"  # a pack is rewritten: that alone needs its body
    while (await other_store.garbage.sweep_step(P, DAY_NS)).phase is not None:
        pass
    refs = [inner.ref, outer.ref, *(content.ref for content in contents)]
    assert set(await other_store.contents.get_many(P, refs)) == set(refs)
    with pytest.raises(ContentMissing):
        await other_store.contents.get(P, message("user", "gone").ref)


async def test_a_mostly_dead_object_is_written_anew(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock, objects: FaultyObjects
):
    texts = random.Random(3).randbytes(40_000).hex()
    runs = [run_number(n) for n in range(6)]
    contents = [
        await packed_run(store, run, *(f"{word} {texts[n::7]}" for word in "abcd")) for n, run in enumerate(runs)
    ]
    await move_packs(store, sql)
    before = await store.objects.sizes(P)
    for run in runs[1:]:
        await store.garbage.delete_run(P, run, forks=False)
    await sweep(store, clock)
    await clean(store)
    after_it = await store.objects.sizes(P)
    assert after_it.bytes < before.bytes / 3
    assert after_it.bytes == after_it.named_bytes
    refs = [content.ref for content in contents[0]]
    assert set(await other_store.contents.get_many(P, refs)) == set(refs)
    assert len(await objects.keys()) == 1


async def test_the_objects_of_a_deleted_project_go_with_it(
    store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    created = await store.projects.create("other")
    assert created is not None
    other = created.number
    await store.contents.put(other, [large(1)])
    await record(store, RUN, [large(1)])
    assert await move_all(store) == 2
    await store.projects.delete(other)
    await sql.execute("update project set deleted_at = deleted_at - interval '2 minutes' where project_id = $1", other)
    while await store.projects.remove_deleted(100):
        pass
    await clean(store)
    assert [key.split("/")[0] for key in await objects.keys()] == ["1"]
    assert await sql.fetchval("select count(*) from stored_object") == 1


# --- several at once -------------------------------------------------------------------------------------------------


async def test_two_movers_move_each_content_once(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    contents = [large(n) for n in range(12)]
    await record(store, RUN, contents)

    async def work(one: PostgresStore) -> int:
        moved = 0
        while await one.moves.large_waiting(LEAST):
            moved += (await one.moves.move_content(LEAST)).items
        return moved

    assert sum(await asyncio.gather(work(store), work(other_store))) == 12
    while await store.objects.check_and_settle(0, 100):
        pass
    await clean(store)
    assert len(await objects.keys()) == 12
    refs = [content.ref for content in contents]
    assert set(await other_store.contents.get_many(P, refs)) == set(refs)


async def test_movers_and_sweeps_and_writers_lose_nothing_that_is_named(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock, objects: FaultyObjects
):
    chance = random.Random(7)
    kept: list[ContentRef] = []
    for turn in range(12):
        runs = [run_number(100 * turn + n) for n in range(4)]
        contents = [large(10 * turn + n, 70 * KIB) for n in range(4)]
        for run, content in zip(runs, contents, strict=True):
            await record(store, run, [content])
            await packed_run(store, run, f"{run} a", f"{run} b", f"{run} c", f"{run} d")
        for run in chance.sample(runs, 2):
            await store.garbage.delete_run(P, run, forks=False)
        clock.days_pass(3)
        again = large(10 * turn + 1, 70 * KIB)

        async def swept(one: PostgresStore) -> None:
            for _ in range(60):
                with suppress(StoreUnavailable):
                    if (await one.garbage.sweep_step(P, DAY_NS)).phase is None:
                        return

        async def moved(one: PostgresStore) -> None:
            packs = [row["pack"] for row in await sql.fetch("select pack from content_pack")]
            await one.moves.move_packs(P, packs)
            while (await one.moves.move_content(LEAST)).items:
                await one.objects.check_and_settle(0, 100)
            await one.moves.tidy()

        async def named(again: Content = again, turn: int = turn) -> None:
            await record(other_store, run_number(5_000 + turn), [again])

        await asyncio.gather(swept(store), moved(other_store), named())
        kept.append(again.ref)
    await sweep(store, clock)
    await move_all(store)
    await clean(store)
    assert set(await other_store.contents.get_many(P, kept)) == set(kept)
    named_objects = await sql.fetchval("select count(distinct object) from object_part")
    assert len(await objects.keys()) == named_objects == (await store.objects.sizes()).objects
    assert await sql.fetchval("select count(*) from content where body is null and object is null") == 0
    assert await sql.fetchval("select count(*) from content_pack where body is null and object is null") == 0


# --- parts of others -------------------------------------------------------------------------------------------------


async def test_parts_are_kept_once_they_are_published_and_deleted_otherwise(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, objects: FaultyObjects
):
    parts = {name: random.Random(name).randbytes(5_000_000) for name in ("a", "b", "c", "d")}
    located = await store.objects.put_parts(P, parts)
    assert len({place.object for place in located.values()}) == len(await objects.keys()) == 2  # 16 MiB each
    assert {name: part_digest(part) for name, part in parts.items()} == {n: p.digest for n, p in located.items()}
    objects.counts.clear()
    read = await other_store.objects.read_parts(list(located.values()))
    assert {name: read[place] for name, place in located.items()} == parts
    assert objects.counts == {"get": 2}
    await sql.execute("update stored_object set changed = now() - interval '2 hours'")
    assert await store.objects.delete_doomed(0) == 2
    assert await objects.keys() == []
