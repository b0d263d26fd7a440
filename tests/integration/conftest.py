"""A store on a database of its own, and a client of the application on it; tests that need others define their own."""

from collections.abc import AsyncIterator

import httpx
import pytest

from playhead.client import AsyncClient
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import PostgresStore, connect

# How many connections the store has: some tests take all of them.
CONNECTIONS = 3


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(database_url, pool_size=CONNECTIONS)
    yield store
    await store.close()


@pytest.fixture
async def client(store: PostgresStore) -> AsyncIterator[AsyncClient]:
    async with (
        httpx.ASGITransport(create_app(CollectorSettings(), store)) as http,
        AsyncClient("http://localhost", transport=http) as client,
    ):
        yield client
