"""Says who answers: a header on every answer, and `GET /v1/playhead`.

Senders find a collector by OpenTelemetry's variables too, at whose address another receiver may be, and there may be
proxies in between.  What a Playhead collector itself has answered carries the header, and nothing else does.
"""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead.model.names import COLLECTOR_HEADER, COLLECTOR_PATH

# Of what senders may rely on; not the build's, which is nobody's business.
VERSION = "1"
HEADER = (COLLECTOR_HEADER.encode(), VERSION.encode())


class Identity(BaseModel):
    """`collector`: the version of what senders may rely on."""

    collector: str


class IdentityHeader:
    """Adds the header to every answer, those of errors and of the other middleware included. Plain ASGI, so that bodies
    stream through it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def signed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers: list[Any] = [*message.get("headers", ()), HEADER]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, signed if scope["type"] == "http" else send)


def router() -> APIRouter:
    """The route, which needs no key."""
    routes = APIRouter(tags=["health"])

    @routes.get(COLLECTOR_PATH)
    async def identity() -> Identity:
        """Whether a Playhead collector is here."""
        return Identity(collector=VERSION)

    return routes
