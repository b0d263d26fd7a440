"""The query API over runs in memory or in a journal: the collector's routes over a record store, without a port."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, NoReturn, cast

import httpx
from fastapi import FastAPI

from playhead_collector.analysis.configuration import Configured
from playhead_collector.handlers.asking import needs_collector
from playhead_collector.handlers.journal import NothingToProject
from playhead_collector.read.prices import shipped
from playhead_collector.serve import errors, query_api
from playhead_collector.serve.identity import IdentityHeader
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.store.records.ports import ProjectionCache, RecordSource
from playhead_collector.store.records.promises import RecordPromises
from playhead_collector.store.records.scores import RecordScores
from playhead_collector.store.records.store import RecordStore


class _CollectorOnly:
    """A part of the store that only a collector has. Every use raises Refused."""

    def __getattr__(self, name: str) -> Any:
        raise needs_collector()


class _LocalScores(RecordScores):
    """The recorded scores. None can be added."""

    async def add(self, project_id: int, run: str, score: object) -> NoReturn:
        """Raises Refused."""
        raise needs_collector()


class _LocalPromises(RecordPromises):
    """What recorded runs wait for. Nothing else of promises is known."""

    def __getattr__(self, name: str) -> Any:
        raise needs_collector()


class LocalStore(RecordStore):
    """A record store that refuses what only a collector has."""

    def __init__(
        self, source: RecordSource, cache: ProjectionCache | None = None, *, clock: Callable[[], int] = time.time_ns
    ) -> None:
        super().__init__(source, cache, clock=clock, cost_of=shipped().cost_of)
        self.scores = _LocalScores(source, self._projector)
        self.promises = _LocalPromises(source, self._projector)
        self.changes = self.leases = self.keys = self.storage = _CollectorOnly()


class AppTransport(httpx.BaseTransport):
    """Sends requests to this application, for a client that waits for its answers."""

    def __init__(self, app: FastAPI) -> None:
        self._app = httpx.ASGITransport(app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._app.handle_async_request(request)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


def local_app(
    source: RecordSource,
    configured: Configured | None = None,
    clock: Callable[[], int] = time.time_ns,
    cache: ProjectionCache | None = None,
) -> FastAPI:
    """Returns the application. It refuses requests that change something or follow a run. `clock` gives ns
    since 1970."""
    app = FastAPI(openapi_url=None)
    store = cast(PostgresStore, LocalStore(source, cache, clock=clock))
    query_api.add_routes(app, store, NothingToProject(), configured)
    app.add_api_route("/{path:path}", _refuse, methods=["GET", "POST", "PUT", "DELETE"], response_model=None)
    errors.install(app)
    app.add_middleware(IdentityHeader)
    return app


async def _refuse(path: str) -> NoReturn:
    raise needs_collector()
