"""GET /healthz: this process is alive.  GET /readyz: it can do its work, since its database answers.

Probes do not queue behind work: the network side answers /healthz before the application sees it
(`network.protocol`), and what the database said a moment ago is good enough for /readyz.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from fastapi import APIRouter, Response
from pydantic import BaseModel

from playhead_collector.errors import StoreUnavailable


class Health(BaseModel):
    """All is well; when it is not, the answer is an error."""

    status: str


class Ready(Protocol):
    """What can be asked whether it works."""

    async def ready(self) -> None:
        """Raises StoreUnavailable."""
        ...


# An answer of the database is good for this long,
FRESH_SECONDS = 1.0
# and while it takes its time with the next one, as when all connections are in use, for so long;
GOOD_SECONDS = 10.0
# a probe waits for it this long. Kubernetes gives a probe 1 s.
WAIT_SECONDS = 0.5


class Readiness:
    """Whether the database answers. It is asked once at a time, whatever the number of probes. `clock`: seconds."""

    def __init__(self, store: Ready, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._answered = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Raises StoreUnavailable when it does not, or has not for some time."""
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
    """Whoever waited has been told; when nobody waited any more, asyncio need not complain."""
    if not asked.cancelled():
        asked.exception()


def router(store: Ready) -> APIRouter:
    """The two routes. Migrations ran before the store was opened, so that a store that answers is a migrated one."""
    routes, readiness = APIRouter(tags=["health"]), Readiness(store)

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
