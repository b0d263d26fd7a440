"""ASGI middleware that limits request bodies (except those of spans and content) and responses.

A body is read completely, within limits of size and time, before the application gets the request. A large response is
sent in pieces, and its size counts as memory in use until it is sent. A response that is streamed from a file or a
generator is not in memory and does not count. For bodies of spans and content see `request_limiter.py`.
"""

import asyncio
from collections.abc import Callable

from fastapi import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead_collector.errors import Refused
from playhead_collector.receive.body import check_length
from playhead_collector.receive.body import receive as receive_body
from playhead_collector.receive.transfer_budget import TransferBudget
from playhead_collector.settings import KIB

_PIECE = 64 * KIB
# Smaller responses are not counted: with one per connection, they take at most 100 MB together.
_LARGE = 128 * KIB
# A large response that takes longer than this is aborted when others need its memory.
ANSWER_SLOW_AFTER_SECONDS = 30.0

Answer = Callable[[Request, Refused], Response]


class BoundBodies:
    """Reads bodies of at most `limit` bytes within `body_seconds`, except on paths for which `is_other` returns True.

    `answer` makes the response to a refused request.
    """

    def __init__(
        self,
        app: ASGIApp,
        reading: TransferBudget,
        limit: int,
        body_seconds: float,
        is_other: Callable[[str], bool],
        answer: Answer,
    ) -> None:
        self._app = app
        self._reading = reading
        self._limit = limit
        self._body_seconds = body_seconds
        self._is_other = is_other
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_other(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._body(request)
        except Refused as error:
            await self._answer(request, error)(scope, receive, send)
            return
        is_replayed = False

        async def replayed() -> Message:
            nonlocal is_replayed
            if is_replayed:
                return await receive()
            is_replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replayed, send)

    async def _body(self, request: Request) -> bytes:
        if (encoding := request.headers.get("content-encoding", "identity")) != "identity":
            raise Refused(415, "unknown_encoding", f"Content-Encoding {encoding[:100]!r} is not read here: send none")
        check_length(request.headers.get("content-length"), self._limit)
        with self._reading.one() as arriving:
            return await receive_body(request.stream(), self._limit, arriving, body_seconds=self._body_seconds)


class BoundAnswers:
    """Sends large responses in pieces and counts their bytes in `sending` until they are sent; 503 when it is full."""

    def __init__(self, app: ASGIApp, sending: TransferBudget, answer: Answer) -> None:
        self._app = app
        self._sending = sending
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._sending.one() as transfer:
            head: Message | None = None
            is_refused = False

            async def bounded(message: Message) -> None:
                nonlocal head, is_refused
                if is_refused:
                    return
                if message["type"] == "http.response.start":
                    head = message  # sent with the first bytes, because without room for them it becomes a 503
                    return
                if head is not None:
                    if (size := len(message.get("body", b""))) > _LARGE:
                        try:
                            transfer.hold(size)
                        except Refused as error:
                            is_refused = True
                            await self._answer(Request(scope), error)(scope, receive, send)
                            return
                    head, begun = None, head
                    await send(begun)
                await _in_pieces(message, send)

            try:
                async with asyncio.timeout(None) as transfer.deadline:
                    await self._app(scope, receive, bounded)
            except TimeoutError:
                if not transfer.was_cancelled:
                    raise
                # The response has begun and cannot be replaced by an error: the server closes the connection.


async def _in_pieces(message: Message, send: Send) -> None:
    body = message.get("body", b"")
    if len(body) <= _PIECE:
        await send(message)
        return
    view = memoryview(body)
    for start in range(0, len(body), _PIECE):
        more = start + _PIECE < len(body) or message.get("more_body", False)
        await send({"type": "http.response.body", "body": bytes(view[start : start + _PIECE]), "more_body": more})
