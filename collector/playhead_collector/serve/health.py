"""GET /healthz: the process runs.  GET /readyz: its database answers.

Probes do not wait behind other requests: `network.protocol` answers /healthz before the application gets it, and
/readyz uses the last answer of the database for a moment.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from fastapi import APIRouter, Response
from pydantic import BaseModel

from playhead_collector.errors import StoreUnavailable


class Health(BaseModel):
    """`status`: `alive` or `ready`. Otherwise the response is an error."""

    status: str


class Ready(Protocol):
    """A component that can check whether it works."""

    async def ready(self) -> None:
        """Returns if it works. Raises StoreUnavailable."""
        ...


# An answer of the database is used for this long.
FRESH_SECONDS = 1.0
# It is used for this long while the next check is slow, as when all connections are in use.
GOOD_SECONDS = 10.0
# A probe waits this long for a check. Kubernetes gives a probe 1 s.
WAIT_SECONDS = 0.5


class Readiness:
    """Checks whether the database answers, one check at a time for any number of probes. `clock`: in seconds."""

    def __init__(self, store: Ready, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._answered = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Raises StoreUnavailable if the database refuses, or has not answered for GOOD_SECONDS."""
        if self._clock() - self._answered < FRESH_SECONDS:
            return
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(_retrieve_result)
        try:
            await asyncio.wait_for(asyncio.shield(self._asking), WAIT_SECONDS)
        except TimeoutError:
            if self._clock() - self._answered > GOOD_SECONDS:
                message = f"the database has not answered for {GOOD_SECONDS:g} s: look at its log and its load"
                raise StoreUnavailable(message) from None

    async def _ask(self) -> None:
        await self._store.ready()
        self._answered = self._clock()


def _retrieve_result(asked: asyncio.Task[None]) -> None:
    """Reads the task's exception, so that asyncio does not report it as unhandled when no probe waits for it."""
    if not asked.cancelled():
        asked.exception()


def router(readiness: Readiness) -> APIRouter:
    """The two routes. Migrations run before the store is opened, so readiness does not check them."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz")
    async def healthz(response: Response) -> Health:
        """Whether the process is alive."""
        response.headers["Cache-Control"] = "no-store"
        return Health(status="alive")

    @routes.get("/readyz")
    async def readyz(response: Response) -> Health:
        """Whether the database answers; 503 while it does not."""
        await readiness.check()
        response.headers["Cache-Control"] = "no-store"
        return Health(status="ready")

    return routes
