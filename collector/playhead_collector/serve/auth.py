"""Checks API keys, before all routes. Plain ASGI, so that bodies stream through it. If no key exists, all requests are
allowed; `cli.py` warns when the collector then listens on a network.

What a key is, and which project a request is about, is found out by `access_control`.
"""

from collections.abc import Callable

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead.model.names import COLLECTOR_PATH
from playhead.wire.operations.conversations import ConversationOperations
from playhead.wire.operations.declared import PREFIX, operation_at
from playhead.wire.operations.notes import NoteOperations
from playhead.wire.operations.scores import ScoreOperations
from playhead_collector.access import FIRST_PROJECT, Access, access_of
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.receive.langfuse_media import is_upload, ticket_in
from playhead_collector.receive.otlp_http import INTAKE_PATHS
from playhead_collector.serve import drop_in
from playhead_collector.serve.access_control import AccessControl
from playhead_collector.serve.browser.pages import is_ui_path
from playhead_collector.serve.errors import RETRY_SECONDS, answer
from playhead_collector.serve.keyring import ADMIN, INGEST, READ

# Paths without a key: load balancers have none, and clients send theirs only after they identified the collector.
# The web UI is a page without data, and signs in at `SESSION_PATH`. Uploads of media that were announced with a key
# have none either (`is_upload`).
SESSION_PATH = "/api/v1/session"
OPEN_PATHS = frozenset({"/healthz", "/readyz", COLLECTOR_PATH, SESSION_PATH})
METRICS_PATH = "/metrics"
# Of the other paths, those on which a program can store as much as it likes. They count for the limits of its project,
# as spans and contents do. What keeps a run going (leases, promises) is small, and never refused for a limit.
_STORING = frozenset({
    ConversationOperations.save_conversation, ScoreOperations.score, NoteOperations.add_note, NoteOperations.save_view,
})  # fmt: skip
# What is no declared operation, and may be read with the scope `read`.
_READ_PATHS = frozenset({METRICS_PATH, f"{PREFIX}/docs", f"{PREFIX}/openapi.json"})


class RequireKey:
    """Passes on requests whose key has the needed scope; answers others with 401 or 403 (503: keys cannot be read)."""

    def __init__(
        self,
        app: ASGIApp,
        access_control: AccessControl,
        *,
        metrics_open: bool = False,
        is_route: Callable[[Scope], bool] = lambda _: True,
    ) -> None:
        """`is_route` returns whether a route answers a request for which `needed_for` returns None."""
        self._app = app
        self._access_control = access_control
        self._is_route = is_route
        self._open = OPEN_PATHS | ({METRICS_PATH} if metrics_open else frozenset[str]())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._open or _is_page(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        if (refused := await self._refused(scope)) is not None:
            await refused(scope, receive, send)
        else:
            await self._app(scope, self._counted(scope, receive) if _is_storing(scope) else receive, send)

    def _counted(self, scope: Scope, receive: Receive) -> Receive:
        """Counts the bytes of a body for its project while they are received."""
        project_id = access_of(Request(scope)).project_id

        async def counted() -> Message:
            message = await receive()
            if body := message.get("body"):
                self._access_control.quotas.arrived(project_id, 0, len(body))
            return message

        return counted

    async def _refused(self, scope: Scope) -> ASGIApp | None:
        request, needed = Request(scope), needed_for(scope["method"], scope["path"])
        if needed is None and self._is_route(scope):
            needed = ADMIN
        try:
            request.state.access = await self._access(request, needed)
        except Refused as error:
            return answer(request, error.status, error.code, str(error), error.headers)
        except StoreUnavailable as error:
            # The keys were never read, so a key may be needed: refuse all requests, /metrics too.
            return answer(request, 503, "store_unavailable", str(error), {"Retry-After": str(RETRY_SECONDS)})
        return None

    async def _access(self, request: Request, needed: str | None) -> Access:
        path = request.url.path
        if is_upload(request.method, path):
            return await self._access_control.uploader(ticket_in(request))
        if path.startswith(INTAKE_PATHS) or _is_storing(request.scope):
            return await self._access_control.sender(request.headers)
        access = await self._access_control.access(needed, request.headers)
        if path == METRICS_PATH and access.project_id != FIRST_PROJECT and not access.is_operator:
            raise Refused(403, "operators_only", "these figures are of all projects: ask with a key of the first one")
        return access


def _is_storing(scope: Scope) -> bool:
    return operation_at(scope["method"], scope["path"]) in _STORING


def _is_page(method: str, path: str) -> bool:
    return method in {"GET", "HEAD"} and is_ui_path(path)


def needed_for(method: str, path: str) -> str | None:
    """Returns the scope that a request needs. None: the request is not known here; it needs `admin` if a route answers
    it."""
    if (operation := operation_at(method, path)) is not None:
        return operation.facts.scope
    if path.startswith(INTAKE_PATHS) or path in drop_in.PATHS:
        return INGEST
    return READ if method in {"GET", "HEAD"} and path in _READ_PATHS else None
