"""What is forgotten goes out of the object store as well, whatever happens to its objects at the same time."""

import random
from pathlib import Path

import asyncpg
import pytest

from playhead.model.canonical import TEXT, Content
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.postgres import moving
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import RUN, Clock, P, run_number
from tests.integration.store.test_forgetting import forget, record
from tests.support.faulty_objects import FaultyObjects

OTHER = run_number(1)
DAY_S = 86_400.0


@pytest.fixture
def objects(tmp_path: Path) -> FaultyObjects:
    return FaultyObjects(open_object_store(f"file://{tmp_path}/objects", 10))


def text(word: str) -> Content:
    return Content(f"{word} {random.Random(word).randbytes(1_000).hex()}".encode(), TEXT)


async def of_two_users(store: PostgresStore, clock: Clock) -> tuple[Content, Content]:
    """A run with a pack of each."""
    contents = text("marigold"), text("tulip")
    for run, user, content in zip((RUN, OTHER), ("u1", "u2"), contents, strict=True):
        await record(store, run, [content], user=user)
        await store.projections.pack([UnpackedRun(P, run, 1)])
    clock.days_pass(1.1)
    return contents


async def tidied(store: PostgresStore) -> None:
    """What the mover does after an erasure, without the wait of other objects."""
    while await store.moves.erase():
        pass
    await store.objects.delete_doomed(DAY_S)


async def in_use(sql: asyncpg.Connection) -> int:
    return await sql.fetchval("select sum(object_length) from object_part")


@pytest.mark.parametrize("when", ["before", "while"])
async def test_an_object_that_is_written_while_something_in_it_is_forgotten_does_not_keep_it(
    store: PostgresStore,
    sql: asyncpg.Connection,
    clock: Clock,
    objects: FaultyObjects,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
):
    """`before`: its bytes were read from the rows, and an object before it is being written."""
    other, forgotten = await of_two_users(store, clock)
    if when == "before":
        monkeypatch.setattr(moving, "OBJECT_BYTES", 1)

    async def forget_meanwhile(call: str) -> None:
        if call == "put" and objects.counts["put"] == 1:
            assert (await forget(store, "user", "u2")).phase == "done"

    objects.before = forget_meanwhile
    packs = [row["pack"] for row in await sql.fetch("select pack from content_pack order by pack")]
    assert len(packs) == 2
    assert (await store.moves.move_packs(P, packs)).items == 1
    while await store.objects.check_and_settle(0, 100):
        pass
    await tidied(store)
    assert await sql.fetchval("select count(*) from stored_object") == len(await objects.keys()) == 1
    assert await sql.fetchval("select count(*) from stored_object where erasing") == 0
    assert await in_use(sql) == await sql.fetchval("select sum(bytes) from stored_object")
    assert await store.contents.missing(P, [forgotten.ref, other.ref]) == [forgotten.ref]
    assert (await store.contents.get(P, other.ref)).data == other.data
