"""The query API over runs in memory or files, inside the calling process: it opens no port and stores nothing."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, cast

from fastapi import FastAPI

from playhead_collector.analysis.configuration import Configured
from playhead_collector.handlers.asking import needs_collector
from playhead_collector.handlers.journal import LocalStore, NothingToProject
from playhead_collector.serve import errors, handlers
from playhead_collector.serve.identity import IdentityHeader
from playhead_collector.store.records.ports import ProjectionCache, RecordSource

if TYPE_CHECKING:  # the journal of a machine is read without Postgres' driver
    from playhead_collector.store.postgres.store import PostgresStore

PROJECT = 1


def local_app(
    source: RecordSource,
    configured: Configured | None = None,
    clock: Callable[[], int] = time.time_ns,
    cache: ProjectionCache | None = None,
) -> FastAPI:
    """Returns the application. It refuses requests that change something, search, or follow a run. `clock` gives ns
    since 1970."""
    app = FastAPI(openapi_url=None)
    store = cast("PostgresStore", LocalStore(source, cache, clock=clock))
    handlers.add_routes(app, store, NothingToProject(), PROJECT, configured)
    app.add_api_route("/{path:path}", _refuse, methods=["GET", "POST", "PUT", "DELETE"], response_model=None)
    errors.install(app)
    app.add_middleware(IdentityHeader)
    return app


async def _refuse(path: str) -> NoReturn:
    raise needs_collector()
