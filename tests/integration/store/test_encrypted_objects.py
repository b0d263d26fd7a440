"""The object store has contents of an encrypted project as they were in their rows: encrypted."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from playhead.model.canonical import TEXT, Content, content_of
from playhead_collector.errors import KeyDestroyed
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.operator_key import KeySource
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.encryption.scanning import found_in
from tests.integration.store.making import RUN, Clock, message, ref_of, span, thread, whole

KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
LEAST = 64 * 1024
DAY_NS = 86_400 * 1_000_000_000
WORDS = ("the marigold", "an answer", "another marigold", "the last")


async def opened(database_url: str, clock: Clock, folder: Path) -> PostgresStore:
    objects = open_object_store(f"file://{folder}", 10)
    return await connect(database_url, pool_size=3, clock=clock, objects=objects, operator_key=KeySource(KEY).open())


@pytest.fixture
async def store(database_url: str, clock: Clock, tmp_path: Path) -> AsyncIterator[PostgresStore]:
    store = await opened(database_url, clock, tmp_path / "objects")
    yield store
    await store.close()


@pytest.fixture
async def cold_store(database_url: str, clock: Clock, tmp_path: Path) -> AsyncIterator[PostgresStore]:
    store = await opened(database_url, clock, tmp_path / "objects")
    yield store
    await store.close()


@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
async def test_what_moved_is_read_and_swept_as_before_and_no_object_has_its_text(
    store: PostgresStore, cold_store: PostgresStore, database_url: str, clock: Clock, tmp_path: Path, encrypted: bool
):
    project = await store.projects.create("blue", encrypted=encrypted)
    assert project is not None
    number = project.number
    inner = content_of("named by the large one")
    large = Content(b"marigold " + random.Random(1).randbytes(100_000).hex().encode() + str(inner.ref).encode(), TEXT)
    contents = [message("user" if n % 2 == 0 else "assistant", word) for n, word in enumerate(WORDS)]
    spans = [span(1, INPUT_MESSAGES_REF=ref_of(thread(*WORDS))), span(2, INPUT_REF=large.ref)]
    await store.spans.ingest(number, Batch(spans=spans, contents=[*contents, large], threads=[whole(thread(*WORDS))]))
    await store.contents.put(number, [inner])
    await store.projections.pack([UnpackedRun(number, RUN, 1)])
    sql = await asyncpg.connect(database_url)
    packs = [row["pack"] for row in await sql.fetch("select pack from content_pack")]
    assert (await store.moves.move_content(LEAST)).items == 1
    assert (await store.moves.move_packs(number, packs)).items == len(packs) > 0
    while await store.objects.check_and_settle(0, 10):
        pass
    assert await sql.fetchval("select count(*) from content where names = $1", inner.ref.digest) == 1
    refs = [large.ref, inner.ref, *(content.ref for content in contents)]
    assert {ref: each.data for ref, each in (await cold_store.contents.get_many(number, refs)).items()} == {
        each.ref: each.data for each in [large, inner, *contents]
    }
    assert len(await cold_store.contents.thread(number, ref_of(thread(*WORDS)))) == 4
    found = found_in(tmp_path / "objects", {"text": "marigold"})
    assert bool(found) == (not encrypted)
    clock.days_pass(3)
    while (await cold_store.garbage.sweep_step(number, DAY_NS)).phase is not None:
        pass
    assert set(await cold_store.contents.get_many(number, refs)) == set(refs)
    await sql.close()


async def test_contents_whose_key_is_destroyed_stay_where_they_are_and_others_move(
    store: PostgresStore, cold_store: PostgresStore
):
    lost, other = await store.projects.create("lost", encrypted=True), await store.projects.create("other")
    assert lost is not None
    assert other is not None
    for number in (lost.number, other.number):
        await store.contents.put(number, [Content(random.Random(1).randbytes(80_000), TEXT)])
    assert await store.projects.destroy_key(lost.number)
    moved = [(await cold_store.moves.move_content(LEAST)).items for _ in range(3)]
    assert sum(moved) == 1
    assert await cold_store.moves.large_waiting(LEAST) == 1
    with pytest.raises(KeyDestroyed):
        await cold_store.contents.get(lost.number, Content(random.Random(1).randbytes(80_000), TEXT).ref)
