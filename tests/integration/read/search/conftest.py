"""A store, a collector's application on it, and runs that are sealed and indexed at once."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

import asyncpg
import httpx
import pytest

from playhead_collector.analysis.configuration import Configured
from playhead_collector.app import create_app
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.projection import ProjectionRunner
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from playhead_collector.workers.indexer import SearchIndexer
from playhead_collector.workers.ports import InProcessAnalysis
from tests.integration.emptied import emptied_afterwards
from tests.integration.store.making import Clock, P
from tests.support.made_up_runs import MadeUpRun


@dataclass
class Searched:
    """What is stored is indexed when `index` returns."""

    store: PostgresStore
    sql: asyncpg.Connection
    clock: Clock
    http: httpx.AsyncClient
    indexer: SearchIndexer

    async def made_up(self, runs: Iterable[MadeUpRun]) -> None:
        for run in runs:
            await self.store.contents.put(P, run.contents.values(), run.threads)
            await self.store.spans.ingest(P, Batch(run.spans))
        await self.index()

    async def batch(self, batch: Batch) -> None:
        await self.store.spans.ingest(P, batch)
        await self.index()

    async def index(self) -> None:
        await self.seal()
        while await self.store.search.unindexed_runs(1):
            await self.indexer.run_once()

    async def seal(self) -> None:
        """Seals all runs."""
        runner = ProjectionRunner(self.store.projections, clock=self.clock, seal_after_s=1)
        for _ in range(3):
            await runner.run_once()
            self.clock.now_ns += 10_000_000_000
        await runner.stop()

    async def ask(self, what: str, **params: Any) -> Any:
        answer = await self.http.get(f"/api/v1/search/{what}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def all(self, what: str, **params: Any) -> list[Any]:
        """The items of all pages."""
        found: list[Any] = []
        cursor = ""
        while cursor is not None:
            page = await self.ask(what, **params, **({"cursor": cursor} if cursor else {}))
            found += page["items"]
            cursor = page["next_cursor"]
        return found


@pytest.fixture
async def searched(module_database_url: str) -> AsyncIterator[Searched]:
    clock = Clock()
    async with emptied_afterwards(module_database_url) as sql:
        store = await connect(module_database_url, pool_size=4, clock=clock)
        configured = Configured()
        assert configured.search is not None
        analysis = InProcessAnalysis(store, AnalysisSettings.of(configured), store.search)
        indexer = SearchIndexer(store.search, analysis, configured.search)
        app = create_app(CollectorSettings(), store, clock=clock)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            yield Searched(store, sql, clock, http, indexer)
        await store.close()
