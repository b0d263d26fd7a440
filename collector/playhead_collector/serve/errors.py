"""Error responses of the HTTP API.

    {"error": {"code": "no_such_run", "message": "what is wrong, and what to do"}}      on OTLP paths: OTLP's own form

`code` is for programs and never changes; `message` is for people. Unexpected exceptions are logged; the response does
not contain their details.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead_collector.errors import (
    CollectorError,
    ContentCorrupt,
    ContentMissing,
    Refused,
    StoreUnavailable,
    refusal_of,
)
from playhead_collector.receive.otlp import reply
from playhead_collector.receive.otlp_http import PATHS as OTLP_PATHS
from playhead_collector.receive.request_limiter import RETRY_SECONDS
from playhead_collector.serve.drop_in import hint

log = logging.getLogger(__name__)

# The status that nginx logs when the client has closed the connection. It is never received.
_CLIENT_GONE = 499
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}


def answer(
    request: Request, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The error response, in the form of the request's path. `headers`: additional ones."""
    return formed(request.url.path, request.headers.get("content-type"), status, code, message, headers)


def formed(
    path: str, content_type: str | None, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The error response for a path and a content type, without a Request."""
    response: Response
    if path in OTLP_PATHS:
        response = reply.failure(status, message, reply.reply_wire(content_type))
    else:
        response = JSONResponse({"error": {"code": code, "message": message}}, status)
    response.headers.update(headers or {})
    return response


def client_gone() -> Refused:
    """The error for a request whose client has disconnected."""
    return Refused(_CLIENT_GONE, "client_gone", "the client has gone: its question was given up")


def install(app: FastAPI) -> None:
    """Adds handlers for all exceptions of routes. Exceptions of middleware that is added later are not handled."""
    for error, handler in _HANDLERS.items():
        app.add_exception_handler(error, cast(Any, handler))
    app.add_middleware(UnexpectedErrors)


class UnexpectedErrors:
    """Logs unexpected exceptions with their traceback and answers 500 without it. Plain ASGI, so that bodies stream.

    Starlette's own handler raises the exception again. uvicorn then closes the connection, on which the client may
    already be sending its next request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            request = Request(scope)
            log.exception("%s %s failed with %s", request.method, request.url.path, type(error).__name__)
            message = "the collector failed at this request, and its log says why: please report it"
            await answer(request, 500, "internal", message)(scope, receive, send)


async def _refused(request: Request, error: Refused) -> Response:
    return answer(request, error.status, error.code, str(error), error.headers)


async def _unavailable(request: Request, error: StoreUnavailable) -> Response:
    refused = refusal_of(error)
    return answer(request, refused.status, refused.code, str(error), {"Retry-After": str(RETRY_SECONDS)})


async def _missing_or_corrupt(request: Request, error: CollectorError) -> Response:
    if isinstance(error, ContentCorrupt):
        log.error("%s", error)
    return await _refused(request, refusal_of(error))


async def _http(request: Request, error: HTTPException) -> Response:
    messages = {
        404: f"nothing is at {request.url.path}: GET /api/v1/docs lists what is",
        405: f"{request.url.path} does not take {request.method}: GET /api/v1/docs says what it takes",
    }
    if (todo := hint(request.method, request.url.path)) is not None:
        messages = dict.fromkeys(messages, f"nothing is at POST {request.url.path[:100]}: {todo}")
    detail = str(error.detail)
    ours = detail == HTTPStatus(error.status_code).phrase  # no message was given
    message = messages.get(error.status_code, detail) if ours else detail
    return answer(request, error.status_code, _CODES.get(error.status_code, "refused"), message, error.headers)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    # For each error the parameter and what was expected. The values that the client sent are not repeated.
    messages = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in cast(list[dict[str, Any]], error.errors())]
    return answer(request, 422, "invalid", "; ".join(messages))


_HANDLERS: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
    Refused: _refused,
    StoreUnavailable: _unavailable,
    ContentMissing: _missing_or_corrupt,
    ContentCorrupt: _missing_or_corrupt,
    HTTPException: _http,
    RequestValidationError: _invalid,
}
