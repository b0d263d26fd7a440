"""A collector's port for gRPC under hostile calls: damaged and compressed messages, odd metadata, and raw bytes."""

import asyncio
import gzip
import random
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

import grpc
import grpc.aio

from playhead_collector.receive.otlp_grpc import SERVICES

_ANSWER_SECONDS: Final = 60
# That the collector itself failed; it gives these for no message that was sent to it.
_FAILED: Final = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED}
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_METADATA: Final = [
    (),
    (("authorization", "Bearer " + "x" * 2_000),),
    (("authorization", "Basic !!!"),),
    (("x-odd-bin", b"\x00\xff\r\n"),),
    (("x-project-name", "a" * 3_000),),
    (("x-long", "a" * 100_000),),
    tuple((f"x-{number}", "1") for number in range(300)),
]


@dataclass
class ObservedCalls:
    """How calls were answered. `failed`: those for which the collector said that it failed, or said nothing."""

    statuses: Counter[str] = field(default_factory=Counter[str])
    failed: list[str] = field(default_factory=list[str])


async def attack_grpc(
    url: str, seed: int, message: Callable[[], bytes], bombs: list[bytes], is_over: Callable[[], bool]
) -> ObservedCalls:
    """Sends calls one after the other until `is_over()`. `message` makes a damaged message, `bombs` unpack to much."""
    source, seen = random.Random(seed), ObservedCalls()
    parts = urlsplit(url)
    while not is_over():
        # A connection for some calls: with raw bytes between them, as another client would send them.
        async with grpc.aio.insecure_channel(parts.netloc) as channel:
            for _ in range(50):
                if is_over():
                    return seen
                await _call(channel, source, _packed(source, message, bombs), seen)
        await _noise(parts.hostname or "127.0.0.1", parts.port or 0, source, seen)
    return seen


def _packed(source: random.Random, message: Callable[[], bytes], bombs: list[bytes]) -> bytes:
    if source.random() < 0.01:
        return source.choice(bombs)
    packer: Callable[[bytes], bytes] = source.choice([bytes, bytes, gzip.compress, zlib.compress])
    packed = packer(message())
    return packed if source.random() < 0.8 else packed[: len(packed) // 2]


async def _call(channel: Any, source: random.Random, message: bytes, seen: ObservedCalls) -> None:
    service, method = source.choice(list(SERVICES.values())), "Export" if source.random() < 0.95 else "Import"
    call: Any = channel.unary_unary(f"/{service}/{method}")
    metadata = source.choice(_METADATA) if source.random() < 0.2 else ()
    try:
        await call(message, timeout=_ANSWER_SECONDS, metadata=metadata)
        seen.statuses["OK"] += 1
    except grpc.aio.AioRpcError as error:
        code: Any = cast(Any, error).code()
        seen.statuses[code.name] += 1
        if code in _FAILED:
            seen.failed.append(f"{service} {code.name} {cast(Any, error).details()}: {message[:500]!r}")


async def _noise(host: str, port: int, source: random.Random, seen: ObservedCalls) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    frames = source.randbytes(300)
    writer.write(source.choice([_PREFACE + frames, _PREFACE + bytes(9) * 30, frames, b"GET / HTTP/1.1\r\n\r\n"]))
    try:
        async with asyncio.timeout(5):  # enough to see whether it closes at once; it may also wait for more
            await reader.read(1_000)
        seen.statuses["raw bytes, answered"] += 1
    except (TimeoutError, ConnectionError):
        seen.statuses["raw bytes, no answer"] += 1
    writer.transport.abort()
