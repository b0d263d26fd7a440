import asyncio

import asyncpg
import pytest

from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.ports import Batch
from playhead_collector.store.postgres import connection
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import RUN, P, events, json, projection, span


async def test_a_store_without_a_database_says_so():
    with pytest.raises(StoreUnavailable, match="see that it runs"):
        await connect("postgresql://postgres@localhost:1/postgres", pool_size=1)


async def test_a_store_is_ready_only_with_a_schema(empty_database_url: str, store: PostgresStore):
    await store.ready()
    empty = await connect(empty_database_url, pool_size=1)
    with pytest.raises(asyncpg.UndefinedTableError):
        await empty.ready()
    await empty.close()


async def test_lost_connections_are_replaced(store: PostgresStore, sql: asyncpg.Connection):
    await asyncio.gather(*(store.ready() for _ in range(6)))
    await sql.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and application_name = 'playhead'"
    )
    for _ in range(6):  # at most one failure for each connection that was lost
        try:
            await store.ready()
            break
        except StoreUnavailable:
            continue
    await store.ingest(P, Batch(spans=[span(1)]))
    assert await store.spans(P, RUN) == [span(1)]


async def test_a_connection_lost_in_a_transaction_leaves_nothing_behind(store: PostgresStore, sql: asyncpg.Connection):
    await store.ingest(P, Batch(spans=[span(1)]))

    async def interrupted() -> None:
        async with store.work(P, RUN) as work:
            assert work is not None
            await sql.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity where state = 'idle in transaction'"
            )
            work.result = projection(events(3))

    with pytest.raises(StoreUnavailable):
        await interrupted()
    assert await store.is_dirty(P, RUN)
    assert await store.events(P, RUN) == []


async def test_too_many_connections_are_unavailability(module_database_url: str, sql: asyncpg.Connection):
    await sql.execute("create role guest login connection limit 1")
    await sql.execute("grant all on all tables in schema public to guest")
    url = module_database_url.replace("postgres@", "guest@", 1)
    store = await connect(url, pool_size=2)
    try:
        async with store.work(P, RUN):
            with pytest.raises(StoreUnavailable, match="TooManyConnections"):
                await store.ready()
        await store.ready()
    finally:
        await store.close()
        await sql.execute("drop owned by guest")
        await sql.execute("drop role guest")


async def test_a_pool_that_stays_busy_is_unavailability(
    module_database_url: str, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
):
    store = await connect(module_database_url, pool_size=1)
    await store.ingest(P, Batch(spans=[span(1)]))
    async with store.work(P, RUN):
        monkeypatch.setattr(connection, "ACQUIRE_SECONDS", 0.01)
        with pytest.raises(StoreUnavailable, match="TimeoutError"):
            await store.ready()
        monkeypatch.undo()
    await store.ready()
    await store.close()


async def test_a_closed_store_is_unavailable(module_database_url: str):
    store = await connect(module_database_url, pool_size=1)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.put(P, [json(1)])
