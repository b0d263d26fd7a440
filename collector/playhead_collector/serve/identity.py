"""Identifies a Playhead collector: a header on every response, and `GET /v1/playhead`.

Senders may take the address from OpenTelemetry's variables, where another receiver or a proxy may answer. Only
responses of a Playhead collector have the header.
"""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead.model.names import COLLECTOR_HEADER, COLLECTOR_PATH, WIRE_VERSION

VERSION = str(WIRE_VERSION)
HEADER = (COLLECTOR_HEADER.encode(), VERSION.encode())


class Identity(BaseModel):
    """`collector`: version of the protocol between senders and the collector."""

    collector: str


class IdentityHeader:
    """Adds the header to every response, also to errors and responses of other middleware. Plain ASGI, so that bodies
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
    """The route `GET /v1/playhead`, which needs no key."""
    routes = APIRouter(tags=["health"])

    @routes.get(COLLECTOR_PATH, summary="Identify the Playhead collector at this address")
    async def identity() -> Identity:
        """Identify the Playhead collector at this address."""
        return Identity(collector=VERSION)

    return routes
