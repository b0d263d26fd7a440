from collections.abc import AsyncIterator

import asyncpg
import pytest

from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.emptied import emptied_afterwards
from tests.integration.store.making import Clock
from tests.support.faulty_objects import FaultyObjects


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sql(module_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Past the store."""
    async with emptied_afterwards(module_database_url) as connection:
        yield connection


@pytest.fixture
def objects() -> FaultyObjects | None:
    """There is no object store; tests of one have a fixture of this name."""
    return None


@pytest.fixture
async def store(
    module_database_url: str, clock: Clock, sql: asyncpg.Connection, objects: FaultyObjects | None
) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=6, clock=clock, objects=objects)
    yield store
    await store.close()


@pytest.fixture
async def other_store(
    module_database_url: str, clock: Clock, sql: asyncpg.Connection, objects: FaultyObjects | None
) -> AsyncIterator[PostgresStore]:
    """Another collector on the same database, which has read nothing yet."""
    store = await connect(module_database_url, pool_size=6, clock=clock, objects=objects)
    yield store
    await store.close()
