"""The query API over runs in memory or files, inside the calling process: it opens no port and stores nothing."""

import time
from collections.abc import Callable
from typing import Any, NoReturn, cast

from fastapi import FastAPI

from playhead_collector.analysis.configuration import Configured
from playhead_collector.errors import Refused
from playhead_collector.serve import errors, handlers
from playhead_collector.serve.identity import IdentityHeader
from playhead_collector.serve.routing import add_routers
from playhead_collector.store.ports import Store
from playhead_collector.store.records.ports import ProjectionCache, RecordSource
from playhead_collector.store.records.store import RecordStore

PROJECT = 1


class LocalStore(RecordStore):
    """A record store that refuses operations that only a collector can do."""

    def __getattr__(self, name: str) -> Any:
        """Raises Refused for methods of `Store` that this class lacks, and AttributeError for other names."""
        if hasattr(Store, name):
            raise _needs_collector()
        raise AttributeError(name)


class _NothingToProject:
    """A projector that does nothing, because the store projects each run when it is read."""

    async def project_now(self, project_id: int, run: str) -> None:
        """Does nothing."""

    async def catch_up(self) -> None:
        """Does nothing."""


def local_app(
    source: RecordSource,
    configured: Configured | None = None,
    clock: Callable[[], int] = time.time_ns,
    cache: ProjectionCache | None = None,
) -> FastAPI:
    """Returns the application. It refuses requests that change something, search, or follow a run. `clock` gives ns
    since 1970."""
    app = FastAPI(openapi_url=None)
    store = cast(Store, LocalStore(source, cache, clock=clock))
    add_routers(app, handlers.router(store, _NothingToProject(), PROJECT, configured))
    app.add_api_route("/{path:path}", _refuse, methods=["GET", "POST", "PUT", "DELETE"], response_model=None)
    errors.install(app)
    app.add_middleware(IdentityHeader)
    return app


async def _refuse(path: str) -> NoReturn:
    raise _needs_collector()


def _needs_collector() -> Refused:
    return Refused(
        400,
        "needs_collector",
        "the journal of this machine cannot answer that, because it needs the collector's database: start one with "
        "`playhead serve`, send it the journal with `playhead ship`, and ask again, without --local if you gave it",
    )
