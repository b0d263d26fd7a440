"""Objects that are damaged or gone: what is in them is told, and everything else goes on without them."""

import logging
import random
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from playhead.model.canonical import TEXT, Content
from playhead.model.ref import ContentRef
from playhead_collector.errors import ContentCorrupt, ObjectStoreUnavailable
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.forgetting import Selector
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import moving
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P, run_number, span
from tests.integration.store.test_forgetting import go_on, record
from tests.integration.store.test_sweep import DAY_NS
from tests.support.faulty_objects import FaultyObjects

KIB = 1024


@pytest.fixture
def objects(tmp_path: Path) -> FaultyObjects:
    return FaultyObjects(open_object_store(f"file://{tmp_path}/objects", 10))


@pytest.fixture(autouse=True)
def _says_it_again() -> None:
    """What another test has made it say some seconds ago would else be left out."""
    moving.log.forget()


def text(number: int, size: int = 2 * KIB) -> Content:
    return Content(random.Random(number).randbytes(size // 2).hex().encode(), TEXT)


async def packed(store: PostgresStore, sql: asyncpg.Connection, number: int, *users: str) -> list[Content]:
    """Runs of these users with a content each, in packs that are in an object of their own."""
    before = {row["pack"] for row in await sql.fetch("select pack from content_pack")}
    contents = [text(10 * number + n) for n, _ in enumerate(users)]
    for n, (user, content) in enumerate(zip(users, contents, strict=True)):
        run = run_number(10 * number + n)
        await record(store, run, [content], user=user)
        await store.projections.pack([UnpackedRun(P, run, 1)])
    packs = [row["pack"] for row in await sql.fetch("select pack from content_pack order by pack")]
    await store.moves.move_packs(P, [pack for pack in packs if pack not in before])
    while await store.objects.check_and_settle(0, 100):
        pass
    return contents


async def damage(sql: asyncpg.Connection, folder: Path, how_many: int) -> None:
    """Cuts the oldest objects off."""
    for row in await sql.fetch("select key from stored_object order by object limit $1", how_many):
        path = folder / "objects" / row["key"]
        path.write_bytes(path.read_bytes()[:100])


async def swept(store: PostgresStore) -> None:
    while (await store.garbage.sweep_step(P, DAY_NS)).phase is not None:
        pass


async def missing(store: PostgresStore, contents: Sequence[Content]) -> list[ContentRef]:
    return list(await store.contents.missing(P, [content.ref for content in contents]))


async def test_an_object_that_was_cut_off_is_told_and_others_are_read_at_once(
    store: PostgresStore, sql: asyncpg.Connection, tmp_path: Path
):
    """A range behind its end is an error of the object store, and no outage."""
    damaged, other = await packed(store, sql, 0, "a", "b"), await packed(store, sql, 1, "c")
    await damage(sql, tmp_path, 1)
    for content in damaged:
        with pytest.raises(ContentCorrupt, match="other bytes"):
            await store.contents.get(P, content.ref)
    assert (await store.contents.get(P, other[0].ref)).data == other[0].data


async def test_a_damaged_object_that_is_mostly_dead_keeps_no_other_from_moving_and_being_deleted(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    for number in range(2):
        await packed(store, sql, number, "a", "b", "b", "b")
    for number in range(2):
        for n in range(1, 4):
            await store.garbage.delete_run(P, run_number(10 * number + n), forks=False)
    clock.days_pass(3)
    await swept(store)
    await damage(sql, tmp_path, 1)
    large = text(99, 400 * KIB)
    await record(store, run_number(99), [large])
    times = iter(range(0, 10**9, 10_000))
    mover = ObjectMover(
        store.moves, store.objects, least_bytes=64 * KIB, grace_s=0, wait_s=0, clock=lambda: float(next(times))
    )
    for _ in range(4):
        await mover.run_once()
    assert mover.counts["contents"] == 1
    assert mover.counts["deleted"] >= 1
    rows = await sql.fetch(
        "select bytes, (select sum(object_length) from object_part where object = stored_object.object) as named"
        " from stored_object order by object"
    )
    assert [row["bytes"] == row["named"] for row in rows] == [False, True, True]
    assert "restore this object" in caplog.text


async def test_damaged_objects_keep_no_other_from_being_erased(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    for number in range(7):
        await packed(store, sql, number, "u1", "b")
    clock.days_pass(1.1)
    job = uuid4()
    await store.forgetting.begin(P, job, Selector("user", "u1"), forks=False, requested_by="ops", hold_ns=0)
    assert (await go_on(store, job)).phase == "done"
    assert await sql.fetchval("select count(*) from stored_object where erasing") == 7
    await damage(sql, tmp_path, 5)
    for _ in range(6):
        await store.moves.erase()
    await store.objects.delete_doomed(10**6)
    assert await sql.fetchval("select count(*) from stored_object where erasing") == 5
    assert "what was erased is still in the object store" in caplog.text


async def test_a_sweep_leaves_what_is_damaged_and_erases_it_when_it_is_restored(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.ERROR)
    # Of both users in one pack, so that a sweep has to write the pack anew.
    contents = {}
    for number in range(2):
        runs = {f"u{n}": run_number(10 * number + n) for n in (1, 2)}
        for n, (user, run) in enumerate(runs.items()):
            contents[number, user] = text(10 * number + n)
            await record(store, run, [contents[number, user]], user=user)
        await store.projections.pack([UnpackedRun(P, run, 1) for run in runs.values()])
        packs = [row["pack"] for row in await sql.fetch("select pack from content_pack where object is null")]
        await store.moves.move_packs(P, packs)
    while await store.objects.check_and_settle(0, 100):
        pass
    key = await sql.fetchval("select key from stored_object order by object limit 1")
    path = tmp_path / "objects" / key
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    clock.days_pass(1.1)
    job = uuid4()
    await store.forgetting.begin(P, job, Selector("user", "u1"), forks=False, requested_by="ops", hold_ns=0)
    done = await go_on(store, job)
    assert (done.phase, done.contents) == ("contents", 1)
    assert done.held_until_ns is not None
    assert key in caplog.text
    # Who asked for the first one would take it out of what is to be erased.
    assert await missing(store, [contents[key] for key in contents if key != (0, "u1")]) == [contents[1, "u1"].ref]
    with pytest.raises(ContentCorrupt, match=key):
        await store.contents.get(P, contents[0, "u2"].ref)
    assert (await store.contents.get(P, contents[1, "u2"].ref)).data == contents[1, "u2"].data
    path.write_bytes(whole)
    assert list(await store.forgetting.erasing_due()) == []
    clock.days_pass(0.3)
    done = await go_on(store, job)
    assert (done.phase, done.contents, done.of_others) == ("done", 2, 0)
    assert (await store.contents.get(P, contents[0, "u2"].ref)).data == contents[0, "u2"].data
    assert set(await missing(store, list(contents.values()))) == {contents[0, "u1"].ref, contents[1, "u1"].ref}


async def test_what_writers_note_does_not_pile_up_while_a_sweep_waits_for_the_object_store(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock, objects: FaultyObjects
):
    runs = [run_number(1), run_number(2)]
    contents = [text(1), text(2)]
    for run, content in zip(runs, contents, strict=True):
        await record(store, run, [content])
    await store.projections.pack([UnpackedRun(P, run, 1) for run in runs])
    await store.moves.move_packs(P, [row["pack"] for row in await sql.fetch("select pack from content_pack")])
    while await store.objects.check_and_settle(0, 100):
        pass
    await store.garbage.delete_run(P, runs[0], forks=False)
    clock.days_pass(3)
    objects.is_down = True
    with pytest.raises(ObjectStoreUnavailable):
        await swept(store)
    for number in range(20):
        await store.spans.ingest(P, Batch(spans=[span(number, run=run_number(9), INPUT_REF=contents[1].ref)]))
    assert await sql.fetchval("select count(*) from gc_news") == 20
    with pytest.raises(ObjectStoreUnavailable):
        await store.garbage.sweep_step(P, DAY_NS)
    assert await sql.fetchval("select count(*) from gc_news") == 0
    objects.is_down = False
    await swept(other_store)
    assert await missing(store, contents) == [contents[0].ref]
