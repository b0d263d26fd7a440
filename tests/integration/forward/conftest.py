"""A store that fills outboxes, a backend, and workers between them whose clock stands still."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import asyncpg
import pytest

from playhead_collector.destination_settings import DestinationSettings, OtlpSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.forward.worker import ForwardWorker
from playhead_collector.read.prices import shipped
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.emptied import emptied_afterwards
from tests.integration.export.fake_collector import closed_port
from tests.integration.forward.backend import Backend
from tests.integration.store.making import Clock

EAST = "otlp-east"
Make = Callable[..., ForwardWorker]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sql(module_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    async with emptied_afterwards(module_database_url) as connection:
        yield connection


@pytest.fixture
async def store(module_database_url: str, clock: Clock, sql: asyncpg.Connection) -> AsyncIterator[PostgresStore]:
    recipients = [Recipient(EAST, logs=True)]
    store = await connect(module_database_url, pool_size=6, clock=clock, recipients=recipients)
    yield store
    await store.close()


@pytest.fixture
def backend() -> Iterator[Backend]:
    with closed_port() as port:
        started = Backend(port).start()
        yield started
        started.stop()


@pytest.fixture
async def make(store: PostgresStore, backend: Backend, clock: Clock) -> AsyncIterator[Make]:
    """Makes a worker for `otlp-east`, with these settings; `limits` and `settings` may be given whole."""
    made: list[Forwarder] = []

    def worker(settings: DestinationSettings | None = None, limits: Any = None, **options: Any) -> ForwardWorker:
        if settings is None:
            settings = OtlpSettings(**{"name": EAST, "url": backend.url, "timeout_seconds": 20.0} | options)
        to = [destination(settings.checked())]
        limits = limits or ForwardLimits()
        made.append(Forwarder(store, to, limits, shipped(), "http://playhead.example", clock))
        return made[-1].workers[0]

    yield worker
    for each in made:
        await each.stop()
