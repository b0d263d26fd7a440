"""Checks API keys, before all routes. Clients send the key in one of these headers:

    Authorization: Bearer KEY            ours, and OTLP exporters with OTEL_EXPORTER_OTLP_HEADERS
    Authorization: Basic base64(any:KEY) browsers, and Langfuse's SDK
    x-api-key: KEY                       LangSmith's SDK
    api_key: KEY                         older clients of Phoenix and Arize

The web UI sends a cookie that stands for a key (`browser.sessions`). Calls of gRPC have the headers as metadata. Plain
ASGI, so that bodies stream through it. If no key exists, all requests are allowed; `cli.py` warns when the collector
then listens on a network.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from playhead.model.names import COLLECTOR_PATH
from playhead.wire.operations.declared import PREFIX, operation_at
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.receive.langfuse_media import is_upload
from playhead_collector.receive.otlp_http import INTAKE_PATHS
from playhead_collector.serve import drop_in
from playhead_collector.serve.browser.pages import is_ui_path
from playhead_collector.serve.errors import RETRY_SECONDS, answer
from playhead_collector.serve.keyring import ADMIN, INGEST, READ, KeyHolder, Keyring, token_in

# Paths without a key: load balancers have none, and clients send theirs only after they identified the collector.
# The web UI is a page without data, and signs in at `SESSION_PATH`. Uploads of media that were announced with a key
# have none either (`is_upload`).
SESSION_PATH = "/api/v1/session"
OPEN_PATHS = frozenset({"/healthz", "/readyz", COLLECTOR_PATH, SESSION_PATH})
METRICS_PATH = "/metrics"
# What is no declared operation, and may be read with the scope `read`.
_READ_PATHS = frozenset({METRICS_PATH, f"{PREFIX}/docs", f"{PREFIX}/openapi.json"})
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="playhead", Basic realm="playhead"'}


class RequireKey:
    """Passes on requests whose key has the needed scope; answers others with 401 or 403 (503: keys cannot be read)."""

    def __init__(
        self,
        app: ASGIApp,
        keyring: Keyring,
        *,
        metrics_open: bool = False,
        is_route: Callable[[Scope], bool] = lambda _: True,
    ) -> None:
        """`is_route` returns whether a route answers a request for which `needed_for` returns None."""
        self._app = app
        self._keyring = keyring
        self._is_route = is_route
        self._open = OPEN_PATHS | ({METRICS_PATH} if metrics_open else frozenset[str]())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._open or _is_open(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        refused = await self._refused(scope)
        await (refused or self._app)(scope, receive, send)

    async def _refused(self, scope: Scope) -> ASGIApp | None:
        request, needed = Request(scope), needed_for(scope["method"], scope["path"])
        if needed is None and self._is_route(scope):
            needed = ADMIN
        try:
            holder = await authorize(self._keyring, needed, Headers(scope=scope))
            request.state.key_name = None if holder is None else holder.name
        except Refused as error:
            return answer(request, error.status, error.code, str(error), error.headers)
        except StoreUnavailable as error:
            # The keys were never read, so a key may be needed: refuse all requests, /metrics too.
            return answer(request, 503, "store_unavailable", str(error), {"Retry-After": str(RETRY_SECONDS)})
        return None


async def authorize(keyring: Keyring, needed: str | None, headers: Mapping[str, str]) -> KeyHolder | None:
    """Returns the holder of the key in these headers, which must have the scope `needed` (None: any scope). Returns
    None if no key exists.

    Raises Refused: 401 without a valid key, 403 when the key lacks the scope; StoreUnavailable if keys cannot be read.
    """
    if not await keyring.locked():
        return None
    holder = await holder_in(keyring, headers)
    if holder is None:
        message = "the key is missing, wrong or expired: send the header 'Authorization: Bearer <key>'"
        raise Refused(401, "unauthorized", message, _CHALLENGE)
    if needed is not None and needed not in holder.scopes:
        may = ", ".join(sorted(holder.scopes)) or "nothing"
        message = f"this needs a key with the scope {needed}, and this one has {may}: see `playhead keys`"
        raise Refused(403, "forbidden", message)
    return holder


async def holder_in(keyring: Keyring, headers: Mapping[str, str]) -> KeyHolder | None:
    """The holder of the first valid key in these headers, else of their session.  Raises StoreUnavailable."""
    holder = await keyring.holder_of(keys_in(headers))
    if holder is None and (token := token_in(headers)) is not None:
        holder = await keyring.holder_of_session(token)
    return holder


def key_name(request: Request) -> str | None:
    """The name of the key with which this request was authorized; None without one, and for the operator's key."""
    return getattr(request.state, "key_name", None)


def _is_open(method: str, path: str) -> bool:
    return is_upload(method, path) or (method in {"GET", "HEAD"} and is_ui_path(path))


def needed_for(method: str, path: str) -> str | None:
    """Returns the scope that a request needs. None: the request is not known here; it needs `admin` if a route answers
    it."""
    if (operation := operation_at(method, path)) is not None:
        return operation.facts.scope
    if path.startswith(INTAKE_PATHS) or path in drop_in.PATHS:
        return INGEST
    return READ if method in {"GET", "HEAD"} and path in _READ_PATHS else None


def keys_in(headers: Mapping[str, str]) -> Iterator[bytes]:
    """The keys in a request's headers, whose names are in lower case."""
    for name in ("x-api-key", "api_key"):
        if (plain := headers.get(name)) is not None:
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
