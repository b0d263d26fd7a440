"""Who may talk to the collector: whoever sends its key, in the way that their client knows.  First in [serve].

    Authorization: Bearer KEY            ours, and OTLP exporters with OTEL_EXPORTER_OTLP_HEADERS
    Authorization: Basic base64(any:KEY) browsers, and Langfuse's SDK
    x-api-key: KEY                       LangSmith's SDK

Plain ASGI, so that bodies stream through it. Without a key, everybody may: `cli.py` warns when that is a network.
"""

import base64
import binascii
import hmac
from collections.abc import Iterator

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from playhead.model.names import COLLECTOR_PATH
from playhead_collector.serve.errors import answer

# A load balancer that asks whether we are alive has no key; nor shows a client its key before it knows who is here.
OPEN_PATHS = frozenset({"/healthz", COLLECTOR_PATH})


class RequireKey:
    """Passes on requests that carry the key; answers all others with 401."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._is_in(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        message = "the key is missing or wrong: send the header 'Authorization: Bearer <PLAYHEAD_API_KEY>'"
        challenge = {"WWW-Authenticate": 'Bearer realm="playhead", Basic realm="playhead"'}
        await answer(Request(scope), 401, "unauthorized", message, challenge)(scope, receive, send)

    def _is_in(self, headers: Headers) -> bool:
        # A comparison takes the same time wherever two keys differ, so that the answer's delay says nothing about ours.
        return any(hmac.compare_digest(key, self._key) for key in keys_in(headers))


def keys_in(headers: Headers) -> Iterator[bytes]:
    """The keys that a request carries."""
    if (plain := headers.get("x-api-key")) is not None:
        yield plain.encode()
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    match scheme.lower():
        case "bearer":
            yield rest.strip().encode()
        case "basic":
            try:
                yield base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
            except (ValueError, binascii.Error):
                return
        case _:
            return
