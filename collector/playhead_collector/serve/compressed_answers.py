"""ASGI middleware that compresses JSON answers for clients that accept it: with zstd, or else with gzip.

Only answers that are in memory as a whole are compressed, not streams and downloads. An answer with an `ETag` is left
as it is, because its tag names these bytes.
"""

import asyncio
import zlib
from collections.abc import Callable
from typing import Final

import zstandard
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead_collector.settings import KIB

# A shorter answer fits into one packet or two.
_LEAST = 2 * KIB
# Compressing so much takes about a millisecond: longer ones are compressed in a thread, beside the event loop.
_IN_THREAD = 128 * KIB
# Higher levels take several times as long, and save a tenth of the bytes.
_ZSTD_LEVEL, _GZIP_LEVEL = 1, 1
_GZIP_FORM: Final = 16 + zlib.MAX_WBITS
_JSON = "application/json"

Compress = Callable[[bytes], bytes]


def zstd(body: bytes) -> bytes:
    """Returns the body as one zstd frame."""
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(body)


def gzip(body: bytes) -> bytes:
    """Returns the body in gzip's form."""
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORM)
    return packer.compress(body) + packer.flush()


_CODINGS: Final[tuple[tuple[str, Compress], ...]] = (("zstd", zstd), ("gzip", gzip))


def accepted_coding(accept_encoding: str) -> tuple[str, Compress] | None:
    """Returns the best coding that a client accepts; None: it accepts none of ours.  Pure."""
    accepted: dict[str, bool] = {}
    for item in accept_encoding.split(","):
        name, _, quality = item.partition(";")
        key, _, value = quality.partition("=")
        accepted[name.strip().lower()] = key.strip() != "q" or value.strip().strip("0.") != ""
    return next(((name, compress) for name, compress in _CODINGS if accepted.get(name)), None)


class CompressAnswers:
    """Compresses JSON answers of at least 2 KiB."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        coding = accepted_coding(Headers(scope=scope).get("accept-encoding", ""))
        head: Message | None = None

        async def compressed(message: Message) -> None:
            nonlocal head
            if message["type"] == "http.response.start":
                head = message  # sent with the first bytes, which say whether it is compressed
                return
            if head is not None:
                begun, head = head, None
                if _may_be_compressed(begun, message):
                    message = await _compressed(begun, message, coding)
                await send(begun)
            await send(message)

        await self._app(scope, receive, compressed)


def _may_be_compressed(head: Message, message: Message) -> bool:
    headers = Headers(raw=head["headers"])
    is_json = headers.get("content-type", "").partition(";")[0].strip() == _JSON
    is_whole = not message.get("more_body", False) and len(message.get("body", b"")) >= _LEAST
    return is_json and is_whole and "etag" not in headers and "content-encoding" not in headers


async def _compressed(head: Message, message: Message, coding: tuple[str, Compress] | None) -> Message:
    """Returns the message with the body of an answer that may be compressed, and sets the headers of its `head`."""
    headers = MutableHeaders(raw=head["headers"])
    headers.add_vary_header("Accept-Encoding")
    if coding is None:
        return message
    name, compress = coding
    body: bytes = message["body"]
    packed = compress(body) if len(body) < _IN_THREAD else await asyncio.to_thread(compress, body)
    headers["content-encoding"] = name
    headers["content-length"] = str(len(packed))
    return {**message, "body": packed}
