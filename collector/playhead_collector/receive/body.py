"""Reads and decompresses a request's body within limits: the first step of [receive].

The limit applies to the body as sent and as decompressed: a few kilobytes can become gigabytes, so decompression goes
piece by piece and stops at the limit.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator

import zstandard
from starlette.requests import ClientDisconnect

from playhead_collector.errors import Refused
from playhead_collector.receive.transfer_budget import Transfer, try_later
from playhead_collector.settings import KIB, MIB

ENCODINGS = ("gzip", "deflate", "zstd")
# A request is refused when its sender is silent for so long, to free the memory of its partial body.
IDLE_SECONDS = 30.0
_IN_PIECE, _OUT_PIECE = 64 * KIB, MIB
# A gzip file may have several members; thousands of empty ones are an attack.
_MAX_MEMBERS = 100
# RFC 9659 lets a sender of the HTTP encoding `zstd` ask a receiver for 8 MiB of window and no more.
_ZSTD_WINDOW = 8 * MIB
# zstd does not bound its output: 4 bytes may become 128 KiB, so a piece of this size at most 8 MiB.
_ZSTD_PIECE = 256

_ALIASES = {"": "identity", "x-gzip": "gzip"}


async def receive(
    chunks: AsyncIterator[bytes],
    limit: int,
    arriving: Transfer,
    *,
    body_seconds: float,
    idle_seconds: float = IDLE_SECONDS,
) -> bytes:
    """The complete body as sent, within `body_seconds` in total and `idle_seconds` for each piece.

    Raises Refused: 413 above the limit, 408 when the sender is too slow, 400 when it leaves, 503 without room.
    """
    loop = asyncio.get_running_loop()
    last = loop.time() + body_seconds
    got: list[bytes] = []
    tail = bytearray()  # pieces may be single bytes: they are joined before they are stored
    size = 0
    try:
        async with asyncio.timeout(min(body_seconds, idle_seconds)) as arriving.deadline:
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise too_large(limit)
                arriving.hold(size)
                if tail or len(chunk) < _IN_PIECE:
                    tail += chunk
                else:
                    got.append(chunk)
                if len(tail) >= _IN_PIECE:
                    got.append(bytes(tail))
                    tail.clear()
                if not arriving.was_cancelled:
                    arriving.deadline.reschedule(min(last, loop.time() + idle_seconds))
    except TimeoutError:
        if arriving.was_cancelled:
            raise try_later("others wait and this body arrives slowly") from None
        slow = (
            f"it did not arrive within {body_seconds:g} s" if loop.time() >= last else f"no data for {idle_seconds:g} s"
        )
        raise Refused(408, "too_slow", f"{slow}: send the request again") from None
    except ClientDisconnect:
        raise Refused(400, "cut_off", "the connection ended within the request: send it again") from None
    return b"".join([*got, tail])


def check_length(header: str | None, limit: int) -> None:
    """Checks a Content-Length header before the body is read. Raises Refused: 413."""
    if header is not None and header.isdecimal() and (len(header) > 18 or int(header) > limit):
        raise too_large(limit)


def encoding_of(header: str | None) -> str:
    """Returns one of ENCODINGS, or `identity`. Raises Refused (415) for any other encoding."""
    name = (header or "").strip().lower()
    name = _ALIASES.get(name, name)
    if name != "identity" and name not in ENCODINGS:
        accepted = ", ".join(ENCODINGS)
        raise Refused(
            415,
            "unknown_encoding",
            f"Content-Encoding {name[:100]!r} is not read here: use one of {accepted}, or none",
            {"Accept-Encoding": accepted},  # RFC 9110 15.5.16: the supported encodings
        )
    return name


def decompress(body: bytes, encoding: str, limit: int, hold: Callable[[int], None]) -> bytes:
    """The decompressed body, at most `limit` bytes. `hold` is called with the number of bytes in memory so far.

    Raises Refused: 400 when it is damaged, 413 above the limit.
    """
    if encoding == "identity" or not body:
        return body
    out: list[bytes] = []
    size = 0
    try:
        for piece in _UNPACK[encoding](body, limit):
            size += len(piece)
            if size > limit:
                raise too_large(limit, unpacked=True)
            hold(len(body) + size)
            out.append(piece)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise Refused(400, "bad_compression", f"the body is not {encoding} ({error}): send it again") from error
    return b"".join(out)


def too_large(limit: int, *, unpacked: bool = False) -> Refused:
    """Returns the 413 for a body above the limit. Unless `unpacked`, the connection is closed, because the rest of the
    body is not read."""
    size = f"more than {limit} bytes" + (" once decompressed" if unpacked else "")
    return Refused(
        413,
        "too_large",
        f"the request has {size}: send smaller batches, or raise PLAYHEAD_MAX_REQUEST_BYTES",
        {} if unpacked else {"Connection": "close"},
    )


def _gzip(body: bytes, _: int) -> Iterator[bytes]:
    return _inflate(body, zlib.MAX_WBITS | 16, members=_MAX_MEMBERS)


def _deflate(body: bytes, _: int) -> Iterator[bytes]:
    # HTTP's "deflate" means the zlib format, but some senders use raw deflate: both are read. Raw data cannot look
    # like a zlib header: its first block would be of type 0 with padding bits that encoders leave empty.
    zlib_header = len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflate(body, zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS, members=1)


def _inflate(body: bytes, wbits: int, members: int) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits)
    for start in range(0, len(body), _IN_PIECE):  # by pieces, because zlib copies the unread input
        piece = body[start : start + _IN_PIECE]
        while piece:
            if unpacker.eof:
                members -= 1
                if members < 1:
                    raise zlib.error("something follows its end")
                unpacker = zlib.decompressobj(wbits)
            yield unpacker.decompress(piece, _OUT_PIECE)
            piece = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    while not unpacker.eof:  # all input was read, but some output may not have fit
        rest = unpacker.decompress(b"", _OUT_PIECE)
        if not rest:
            raise EOFError("it ends too early")
        yield rest


def _zstd(body: bytes, limit: int) -> Iterator[bytes]:
    # A frame that states its size may need a window of that size; a frame without may need at most what HTTP allows.
    size = zstandard.frame_content_size(body)
    if size > limit:
        raise too_large(limit, unpacked=True)
    if size >= 0:
        yield zstandard.ZstdDecompressor().decompress(body, allow_extra_data=False)
        return
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
    for start in range(0, len(body), _ZSTD_PIECE):
        if unpacker.eof:
            raise EOFError("something follows its end")
        yield unpacker.decompress(body[start : start + _ZSTD_PIECE])
    if unpacker.unused_data:
        raise EOFError("something follows its end")
    if not unpacker.eof:
        raise EOFError("it ends too early")


_UNPACK: dict[str, Callable[[bytes, int], Iterator[bytes]]] = {"gzip": _gzip, "deflate": _deflate, "zstd": _zstd}
