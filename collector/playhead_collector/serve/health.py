"""GET /healthz: the process runs. GET /readyz: its database answers.

Probes do not wait behind other requests: `network.protocol` answers /healthz before the application gets it, and the
store checks the database continuously, over its own connection.
"""

from typing import Protocol

from fastapi import APIRouter, Response
from pydantic import BaseModel


class Health(BaseModel):
    """`status`: `alive` or `ready`. Otherwise the response is an error."""

    status: str


class Ready(Protocol):
    """A store that knows whether its database answers."""

    async def ready(self) -> None:
        """Returns at once, or after a fraction of a second, if the database answers. Raises StoreUnavailable if not."""
        ...


def router(store: Ready) -> APIRouter:
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
        await store.ready()
        response.headers["Cache-Control"] = "no-store"
        return Health(status="ready")

    return routes
