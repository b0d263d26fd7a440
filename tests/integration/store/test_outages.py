import asyncio
from contextlib import suppress

import asyncpg
import pytest

from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.connection import DatabaseTimeouts
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import RUN, P, events, json, projection, span


async def until_ready(store: PostgresStore) -> None:
    """An answer of Postgres counts for a second only, and a busy machine takes longer."""
    async with asyncio.timeout(60):
        while True:
            with suppress(StoreUnavailable):
                return await store.ready()
            await asyncio.sleep(0.01)


async def test_a_store_without_a_database_says_so():
    with pytest.raises(StoreUnavailable, match="see that it runs"):
        await connect("postgresql://postgres@localhost:1/postgres", pool_size=1)


async def test_a_store_is_ready_only_with_a_schema(empty_database_url: str, store: PostgresStore):
    await until_ready(store)
    empty = await connect(empty_database_url, pool_size=1)
    with pytest.raises(asyncpg.UndefinedTableError):
        await empty.ready()
    await empty.close()


async def test_lost_connections_are_replaced(store: PostgresStore, sql: asyncpg.Connection):
    await asyncio.gather(*(store.projections.has_unprojected_data(P, RUN) for _ in range(6)))
    await sql.execute(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
        " where datname = current_database() and application_name = 'playhead'"
    )
    for _ in range(6):  # at most one failure for each connection that was lost
        try:
            await store.projections.has_unprojected_data(P, RUN)
            break
        except StoreUnavailable:
            continue
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    assert await store.spans.read(P, RUN) == [span(1)]


async def test_a_connection_lost_in_a_transaction_leaves_nothing_behind(store: PostgresStore, sql: asyncpg.Connection):
    await store.spans.ingest(P, Batch(spans=[span(1)]))

    async def interrupted() -> None:
        async with store.projections.locked_run(P, RUN) as work:
            assert work is not None
            await sql.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                " where datname = current_database() and state = 'idle in transaction'"
            )
            work.result = projection(events(3))

    with pytest.raises(StoreUnavailable):
        await interrupted()
    assert await store.projections.has_unprojected_data(P, RUN)
    assert await store.events.read(P, RUN) == []


async def test_too_many_connections_are_unavailability(module_database_url: str, sql: asyncpg.Connection):
    await sql.execute("create role guest login connection limit 2")
    await sql.execute("grant all on all tables in schema public to guest")
    url = module_database_url.replace("postgres@", "guest@", 1)
    store = await connect(url, pool_size=2)  # and one to see whether it answers
    try:
        async with store.projections.locked_run(P, RUN):
            with pytest.raises(StoreUnavailable, match="TooManyConnections"):
                await store.projections.has_unprojected_data(P, RUN)
            await until_ready(store)
        await store.projections.has_unprojected_data(P, RUN)
    finally:
        await store.close()
        await sql.execute("drop owned by guest")
        await sql.execute("drop role guest")


async def test_a_pool_that_stays_busy_is_unavailability_and_postgres_answers_all_the_same(module_database_url: str):
    store = await connect(module_database_url, pool_size=1, timeouts=DatabaseTimeouts(connection_seconds=0.5))
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    async with store.projections.locked_run(P, RUN):
        with pytest.raises(StoreUnavailable, match="no connection to Postgres was free within 0.5 s"):
            await store.projections.has_unprojected_data(P, RUN)
        await until_ready(store)
    await store.projections.has_unprojected_data(P, RUN)
    await store.close()


async def test_a_closed_store_is_unavailable(module_database_url: str):
    store = await connect(module_database_url, pool_size=1)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.contents.put(P, [json(1)])


@pytest.mark.parametrize("text", ["a\x00b", "cut \ud83d"])
async def test_a_text_that_postgres_does_not_take_is_refused_with_a_word(store: PostgresStore, text: str):
    """Texts are checked before they come here; this is what becomes of a check that is missing."""
    with pytest.raises(Refused, match="Postgres does not take a value of this request") as refused:
        await store.keys.add(P, text, "p", b"d", ["read"], None)
    assert (refused.value.status, refused.value.code) == (400, "not_taken")


async def test_a_number_that_postgres_does_not_take_is_refused_with_a_word(store: PostgresStore):
    with pytest.raises(Refused, match="Postgres does not take a value of this request"):
        await store.keys.add(P, "name", "p", b"d", ["read"], 1e300)
