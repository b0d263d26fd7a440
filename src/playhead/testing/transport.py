"""client → [transport] → endpoint. The mock model server without a socket: a transport for `httpx` and `httpx2`.

The two libraries have the same interface; newer model clients accept clients of `httpx2` only.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from playhead.testing.http_response import Response

Respond = Callable[[str, str, Mapping[str, str], bytes], Response]


def installed_library() -> ModuleType:
    """Returns `httpx2` if it is installed, else `httpx`."""
    return import_module("httpx2" if find_spec("httpx2") else "httpx")


def client(respond: Respond, library: ModuleType | None, **options: object) -> Any:
    """Makes a `Client` of the library whose requests `respond` answers; `options` are arguments of the client."""
    library = library or installed_library()
    return library.Client(transport=_transport_class(library)(respond), **options)


def async_client(respond: Respond, library: ModuleType | None, **options: object) -> Any:
    """Makes an `AsyncClient` of the library whose requests `respond` answers."""
    library = library or installed_library()
    return library.AsyncClient(transport=_async_transport_class(library)(respond), **options)


def _transport_class(library: Any) -> Any:
    class Body(library.SyncByteStream):
        def __init__(self, response: Response) -> None:
            self.response = response

        def __iter__(self) -> Iterator[bytes]:
            yield from self.response.parts[: self.response.cut_after]
            _break_off(library, self.response)

    class MockTransport(library.BaseTransport):
        def __init__(self, respond: Respond) -> None:
            self.respond = respond

        def handle_request(self, request: Any) -> Any:
            response = _ask(self.respond, request, request.read())
            seconds, is_late = _wait(response, request)
            time.sleep(seconds)
            _refuse(library, response, request, is_late=is_late)
            return library.Response(response.status, headers=_headers(response), stream=Body(response))

    return MockTransport


def _async_transport_class(library: Any) -> Any:
    class AsyncBody(library.AsyncByteStream):
        def __init__(self, response: Response) -> None:
            self.response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for part in self.response.parts[: self.response.cut_after]:
                yield part
            _break_off(library, self.response)

    class AsyncMockTransport(library.AsyncBaseTransport):
        def __init__(self, respond: Respond) -> None:
            self.respond = respond

        async def handle_async_request(self, request: Any) -> Any:
            import anyio  # noqa: PLC0415 - comes with both libraries, and sleeps in any loop that they run in

            response = _ask(self.respond, request, await request.aread())
            seconds, is_late = _wait(response, request)
            await anyio.sleep(seconds)
            _refuse(library, response, request, is_late=is_late)
            return library.Response(response.status, headers=_headers(response), stream=AsyncBody(response))

    return AsyncMockTransport


def _ask(respond: Respond, request: Any, body: bytes) -> Response:
    headers = {name.lower(): value for name, value in request.headers.items()}
    return respond(request.method, request.url.raw_path.decode("ascii"), headers, body)


def _wait(response: Response, request: Any) -> tuple[float, bool]:
    """Returns the seconds to wait, and whether the client's timeout ends the wait first."""
    timeouts: dict[str, float | None] = request.extensions.get("timeout") or {}
    limit = timeouts.get("read")
    if limit is not None and response.wait_seconds > limit:
        return limit, True
    return response.wait_seconds, False


def _refuse(library: Any, response: Response, request: Any, *, is_late: bool) -> None:
    if is_late:
        raise library.ReadTimeout("The mock model answers later than the client waits.", request=request)
    if response.cut_after == 0:
        raise library.RemoteProtocolError("Server disconnected without sending a response.", request=request)


def _break_off(library: Any, response: Response) -> None:
    if response.cut_after is not None:
        raise library.RemoteProtocolError("peer closed connection without sending complete message body")


def _headers(response: Response) -> dict[str, str]:
    return {**response.headers, "content-type": response.content_type}
