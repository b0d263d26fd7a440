"""HTTP responses: JSON, stored content with headers that forbid browsers to execute it, files, and live streams."""

import asyncio
import mimetypes
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import BinaryIO

from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from playhead.model.canonical import Content, is_media_type
from playhead.model.digest import sha256
from playhead.model.names import MASKED_HEADER
from playhead.model.ref import ContentRef
from playhead_collector.errors import Refused
from playhead_collector.json_bytes import json_bytes
from playhead_collector.settings import KIB

# Types that a browser may display. SVG and HTML can contain scripts: they are sent as downloads.
_SHOWN = {"application/json", "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"}
_PIECE = 64 * KIB
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_NEVER_RUN = {
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
# The bytes of a ref never change. `private`: access depends on the caller's key.
_FOR_EVER = "private, max-age=31536000, immutable"
_ASK_AGAIN = "private, no-cache"


def json_answer(value: object) -> Response:
    """The value as JSON. Fragments that are JSON already are inserted without parsing."""
    return Response(json_bytes(value), media_type="application/json")


def finished_answer(body: bytes) -> Response:
    """A response whose body is JSON already."""
    return Response(body, media_type="application/json")


class FileDownload(StreamingResponse):
    """Sends a file from its beginning, piece by piece, and closes it, also when the client has gone."""

    def __init__(self, file: BinaryIO, name: str, media_type: str) -> None:
        self._file = file
        size = file.seek(0, os.SEEK_END)
        headers = {"content-length": str(size), "content-disposition": f'attachment; filename="{name}"'}
        super().__init__(self._pieces(), headers=headers, media_type=media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)

    async def _pieces(self) -> AsyncIterator[bytes]:
        self._file.seek(0)
        while piece := await asyncio.to_thread(self._file.read, _PIECE):
            yield piece


def content_answer(ref: ContentRef, content: Content, request_headers: Mapping[str, str]) -> Response:
    """Returns the content, whole or in the range that the request's headers ask for. Raises Refused (416)."""
    tag = f'"{ref}"'
    headers = {**_NEVER_RUN, "etag": tag, "cache-control": _FOR_EVER, "accept-ranges": "bytes"}
    if content.is_masked:  # what is left of it changes with the rules
        tag = f'"{ref}:masked:{sha256(content.data).hexdigest()}"'
        headers |= {"etag": tag, "cache-control": _ASK_AGAIN, MASKED_HEADER: str(ref)}
    if _has_it(request_headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    media_type = content.media_type if is_media_type(content.media_type) else "application/octet-stream"
    headers |= {"content-disposition": _disposition(ref, media_type), "content-type": media_type}
    size = len(content.data)
    part = _range(request_headers, tag, size)
    if part is None:
        return Response(content.data, headers=headers)
    headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return Response(content.data[part.start : part.stop], 206, headers=headers)


def _has_it(if_none_match: str | None, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in tags or "*" in tags


def _range(request_headers: Mapping[str, str], etag: str, size: int) -> range | None:
    """Returns the requested range of bytes. None: send the whole content, also for Range headers that are not
    supported."""
    shape = _RANGE.fullmatch(request_headers.get("range", "").replace(" ", ""))
    if shape is None or request_headers.get("if-range", etag) != etag:
        return None
    first, last = shape.groups()
    if not first and not last:
        return None
    if not first:
        part = range(max(0, size - int(last)), size)
    else:
        part = range(int(first), min(size, int(last) + 1) if last else size)
        if last and int(last) < int(first):
            return None
    if not part:
        message = f"this content has {size} bytes: ask for a range within them"
        raise Refused(416, "bad_range", message, {"content-range": f"bytes */{size}"})
    return part


def _disposition(ref: ContentRef, media_type: str) -> str:
    plain = media_type.partition(";")[0].lower()
    suffix = mimetypes.guess_extension(plain) or (".json" if plain.endswith("json") else ".bin")
    is_inline = plain in _SHOWN or plain.endswith("+json")
    return f'{"inline" if is_inline else "attachment"}; filename="{ref[7:23]}{suffix}"'


# --- live streams ----------------------------------------------------------------------------------------------------

_EVENT_STREAM = "text/event-stream"
_STREAM_HEADERS = {"cache-control": "no-store", "vary": "accept", "x-accel-buffering": "no"}


def stream_has_ended() -> Response:
    """The response to a client that has received all events of a run that has ended."""
    return Response(status_code=204, headers=_STREAM_HEADERS)


class LiveStreamResponse(Response):
    """Sends server-sent events until they end or the client disconnects; then closes `resources`."""

    media_type = _EVENT_STREAM

    def __init__(self, events: AsyncIterator[bytes], resources: AsyncExitStack) -> None:
        super().__init__(headers=_STREAM_HEADERS)
        del self.headers["content-length"]
        self._events, self._resources = events, resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._resources:
            sending = asyncio.create_task(self._send(send))
            gone = asyncio.create_task(_disconnected(receive))
            try:
                await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (sending, gone):
                    task.cancel()
                results = await asyncio.gather(sending, gone, return_exceptions=True)
        for error in results:
            if isinstance(error, Exception) and not isinstance(error, OSError):  # OSError: the client has disconnected
                raise error

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for data in self._events:
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
