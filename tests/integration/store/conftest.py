from collections.abc import AsyncIterator

import asyncpg
import pytest

from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sql(module_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Past the store.  Leaves an empty database: emptying one takes a tenth of the time that making one does."""
    connection = await asyncpg.connect(module_database_url)
    yield connection
    tables = await connection.fetch("select relname from pg_stat_user_tables where relname !~ 'project|alembic'")
    for (table,) in tables:
        await connection.execute(f"delete from {table}")
    await connection.close()


@pytest.fixture
async def store(module_database_url: str, clock: Clock, sql: asyncpg.Connection) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=6, clock=clock)
    yield store
    await store.close()


@pytest.fixture
async def other_store(module_database_url: str, clock: Clock, sql: asyncpg.Connection) -> AsyncIterator[PostgresStore]:
    """Another collector on the same database."""
    store = await connect(module_database_url, pool_size=6, clock=clock)
    yield store
    await store.close()
