"""GET /healthz: this process is alive.  GET /readyz: it can do its work, since its database answers."""

from typing import Protocol

from fastapi import APIRouter, Response
from pydantic import BaseModel


class Health(BaseModel):
    """All is well; when it is not, the answer is an error."""

    status: str


class Ready(Protocol):
    """What can be asked whether it works."""

    async def ready(self) -> None:
        """Raises StoreUnavailable."""
        ...


def router(store: Ready) -> APIRouter:
    """The two routes. Migrations ran before the store was opened, so that a store that answers is a migrated one."""
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
