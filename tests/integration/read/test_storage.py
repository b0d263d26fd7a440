"""How much is stored: the numbers against a plain count of what was sent, exact where there is little."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from playhead.client import AsyncClient
from playhead.model.ref import ContentRef
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.store.postgres.uses import uses_of
from tests.integration.conftest import CONNECTIONS
from tests.integration.read.recorded import Recorder, conversation


def runs(count: int) -> list[Recorder]:
    """Runs with one beginning, of one to four turns; their ids are spread over all ids."""
    ids = [f"{(n * 2**128 // count) + n:032x}" for n in range(1, count)] + ["f" * 32]
    return [conversation(run, n % 4 + 1, "Where is my order? " + "It was due. " * n) for n, run in enumerate(ids)]


async def ingest(store: PostgresStore, client: AsyncClient, made: Sequence[Recorder]) -> None:
    for recorder in made:
        await store.spans.ingest(PROJECT, recorder.batch())
    # Asking for a run projects it.
    for recorder in made:
        assert (await client.run(recorder.run))["status"] == "completed"


async def analyze(store: PostgresStore) -> None:
    """Brings Postgres' counters up to date. Before `analyze`, each connection reports what it inserted: rows that are
    reported after it count twice."""
    async with AsyncExitStack() as stack:
        for _ in range(CONNECTIONS):
            conn = await stack.enter_async_context(store._db.reading())
            await conn.execute("select pg_stat_force_next_flush()")
        await conn.execute("analyze")


def contents(made: Sequence[Recorder]) -> Mapping[ContentRef, int]:
    return {ref: len(each.data) for recorder in made for ref, each in recorder.contents.items()}


async def inline_bytes(client: AsyncClient, made: Sequence[Recorder]) -> int:
    """Each content as often as a call was given it, by what `about` says of it run by run; all others once a run."""
    total = 0
    for ref, size in contents(made).items():
        about = await client.about(ref)
        total += sum(size * max(each["calls"], 1) for each in about["items"])
    return total


async def inline_bytes_of_all(store: PostgresStore, made: Sequence[Recorder]) -> int:
    """The same from the uses of every run, which is much quicker with many runs."""
    sizes, total = contents(made), 0
    for recorder in made:
        uses = await uses_of(store._db, store.uses._packs, PROJECT, recorder.run)
        total += sum(sizes[ref] * max(calls, 1) for ref, calls in uses.items() if ref in sizes)
    return total


async def sizes_of_tables(store: PostgresStore) -> list[int]:
    """The bytes of all tables, and of their indexes."""
    sizes = "select sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint from pg_class"
    async with store._db.reading() as conn:
        row = await conn.fetchrow(f"{sizes} where relkind = 'r' and relnamespace = current_schema()::regnamespace")
    assert row is not None
    return list(row)


@pytest.mark.parametrize("packed", [False, True])
async def test_a_small_database_is_counted(store: PostgresStore, client: AsyncClient, packed: bool):
    made = runs(5)
    await ingest(store, client, made)
    if packed:
        await store.projections.pack([UnpackedRun(PROJECT, recorder.run, 1) for recorder in made])
    project = (await client.storage())["project"]
    stored = contents(made)
    exact: dict[str, Any] = {"exact": True, "low": None, "high": None}
    assert project["contents"] == {"value": len(stored)} | exact
    assert project["content_bytes"] == {"value": sum(stored.values())} | exact
    assert project["inline_bytes"] == {"value": await inline_bytes(client, made)} | exact
    assert project["inline_bytes"]["value"] == await inline_bytes_of_all(store, made)
    assert project["sampled_runs"] == 5
    assert (project["inline_bytes"]["value"] or 0) > 1.5 * sum(stored.values())


async def test_bytes_are_those_of_the_tables_and_rows_are_estimates(store: PostgresStore, client: AsyncClient):
    await ingest(store, client, runs(5))
    await analyze(store)
    expected, answer = await sizes_of_tables(store), await client.storage()
    while expected != (now := await sizes_of_tables(store)):  # Postgres vacuums when it likes
        expected, answer = now, await client.storage()
    assert answer["database"] is not None
    for sizes_of in (answer["project"], answer["database"]):
        assert [sizes_of["bytes"]["value"], sizes_of["index_bytes"]["value"]] == expected
        assert sizes_of["bytes"]["exact"]
        assert sum(kind["bytes"]["value"] or 0 for kind in sizes_of["kinds"].values()) == expected[0]
        assert sizes_of["kinds"]["runs"]["rows"]["exact"] is False
    assert answer["project"]["kinds"]["calls"]["rows"]["value"]


async def test_of_many_runs_a_sample_stands_for_all_and_says_how_sure_it_is(store: PostgresStore, client: AsyncClient):
    made = runs(45)
    await ingest(store, client, made)
    await analyze(store)
    project = (await client.storage())["project"]
    inline, truth = project["inline_bytes"], await inline_bytes_of_all(store, made)
    assert not inline["exact"]
    assert 25 <= project["sampled_runs"] <= 31
    value, low, high = inline["value"] or 0, inline["low"] or 0, inline["high"] or 0
    assert 0.7 * truth < value < 1.4 * truth
    assert 0 < low < value < high


async def test_with_several_projects_a_share_is_an_estimate(store: PostgresStore, client: AsyncClient):
    made = runs(3)
    await ingest(store, client, made)
    for number in (2, 3):
        for recorder in made:
            await store.spans.ingest(number, recorder.batch())
    async with store._db.transaction() as conn:
        for number in (2, 3):
            await sql.run(conn, "insert_project", project_id=number)
    await analyze(store)
    answer = await client.storage()
    assert answer["database"] is not None
    own, whole = answer["project"]["kinds"]["spans"], answer["database"]["kinds"]["spans"]
    assert (whole["bytes"]["exact"], own["bytes"]["exact"]) == (True, False)
    assert 0.2 < (own["bytes"]["value"] or 0) / (whole["bytes"]["value"] or 1) < 0.5
