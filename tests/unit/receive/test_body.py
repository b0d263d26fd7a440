"""Bodies: bounded before and after decompression."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from playhead_collector.errors import Refused
from playhead_collector.receive.body import ENCODINGS, check_length, decompress, encoding_of, receive
from playhead_collector.receive.transfer_budget import SLOW_AFTER_SECONDS, Transfer, TransferBudget

MIB = 2**20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def zstd_stream(data: bytes) -> bytes:
    """As a sender writes it that does not know the size beforehand."""
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "deflate as zlib": ("deflate", zlib.compress),
    "deflate, raw": ("deflate", raw_deflate),
    "zstd with its size": ("zstd", zstandard.ZstdCompressor().compress),
    "zstd without its size": ("zstd", zstd_stream),
}
every_packer = pytest.mark.parametrize(("encoding", "pack"), PACKERS.values(), ids=PACKERS.keys())


def unpack(body: bytes, encoding: str, limit: int = MIB) -> bytes:
    return decompress(body, encoding, limit, lambda _: None)


async def sent(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


# --- decompression ---------------------------------------------------------------------------------------------------


@every_packer
@given(data=st.binary(max_size=5_000), times=st.integers(0, 100))
def test_what_was_packed_comes_out(encoding: str, pack: Callable[[bytes], bytes], data: bytes, times: int):
    assert unpack(pack(data * times), encoding) == data * times


@every_packer
def test_a_body_that_unpacks_into_the_limit_is_taken_and_one_byte_more_is_refused(
    encoding: str, pack: Callable[[bytes], bytes]
):
    assert len(unpack(pack(bytes(MIB)), encoding)) == MIB
    with pytest.raises(Refused, match="more than 1048576 bytes once decompressed: send smaller batches") as refused:
        unpack(pack(bytes(MIB + 1)), encoding)
    assert refused.value.status == 413


@every_packer
def test_a_bomb_takes_little_more_memory_than_the_limit(encoding: str, pack: Callable[[bytes], bytes]):
    bomb = pack(bytes(200 * MIB))
    held: list[int] = []
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            decompress(bomb, encoding, MIB, held.append)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * MIB
    assert max(held, default=0) <= MIB + len(bomb)


@every_packer
@pytest.mark.parametrize("size", [10, 300_000])
def test_a_body_that_was_cut_off_is_refused(encoding: str, pack: Callable[[bytes], bytes], size: int):
    body = pack(bytes(i * i % 251 for i in range(size)))
    for end in (1, 4, len(body) // 2, len(body) - 5, len(body) - 1):
        with pytest.raises(Refused) as refused:
            unpack(body[:end], encoding)
        assert refused.value.status == 400


@every_packer
def test_a_body_with_something_after_its_end_is_refused(encoding: str, pack: Callable[[bytes], bytes]):
    with pytest.raises(Refused) as refused:
        unpack(pack(b"hello") + b"and more", encoding)
    assert refused.value.status == 400


def test_a_gzip_file_may_have_members_but_not_thousands():
    assert unpack(gzip.compress(b"a") + gzip.compress(b"b"), "gzip") == b"ab"
    with pytest.raises(Refused) as refused:
        unpack(gzip.compress(b"") * 5_000, "gzip")
    assert refused.value.status == 400


@pytest.mark.parametrize("encoding", [*ENCODINGS, "identity"])
@given(garbage=st.binary(max_size=2_000))
@example(garbage=b"")
@example(garbage=b"\x1f\x8b")
@example(garbage=b"\x28\xb5\x2f\xfd")
def test_garbage_is_unpacked_or_refused_and_nothing_else(encoding: str, garbage: bytes):
    with suppress(Refused):
        unpack(garbage, encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_nothing_is_nothing_whatever_its_encoding(encoding: str):
    assert unpack(b"", encoding) == b""


@pytest.mark.parametrize(
    ("header", "name"),
    [(None, "identity"), ("", "identity"), ("identity", "identity"), ("GZIP", "gzip"), (" x-gzip ", "gzip")],
)
def test_encodings_are_named_as_http_names_them(header: str | None, name: str):
    assert encoding_of(header) == name


@pytest.mark.parametrize("header", ["br", "gzip, deflate", "snappy"])
def test_an_unknown_encoding_is_refused_with_those_that_are_known(header: str):
    with pytest.raises(Refused, match="use one of gzip, deflate, zstd") as refused:
        encoding_of(header)
    assert refused.value.status == 415
    assert refused.value.headers["Accept-Encoding"] == "gzip, deflate, zstd"


# --- receiving -------------------------------------------------------------------------------------------------------


@contextmanager
def room(most: int = 10_000) -> Iterator[tuple[TransferBudget, Transfer]]:
    reading = TransferBudget(most)
    with reading.one() as arriving:
        yield reading, arriving
    assert (reading.count, reading.bytes) == (0, 0)


async def test_a_body_is_put_together_and_what_it_holds_is_known():
    async def pieces() -> AsyncIterator[bytes]:
        for held, piece in ((0, b"ab"), (2, b"c"), (3, b"")):
            assert reading.bytes == held
            yield piece

    with room() as (reading, arriving):
        assert await receive(pieces(), 3, arriving, body_seconds=60) == b"abc"
        assert reading.bytes == 3


async def test_a_body_above_the_limit_is_refused_as_soon_as_it_is_known():
    def endless() -> Iterable[bytes]:
        while True:
            yield b"x" * 1_000

    with room() as (_, arriving), pytest.raises(Refused, match="more than 5000 bytes: ") as refused:
        await receive(sent(endless()), 5_000, arriving, body_seconds=60)
    assert refused.value.status == 413


@pytest.mark.parametrize(("length", "is_refused"), [(None, False), ("10", False), ("11", True), ("9" * 5_000, True)])
def test_a_length_above_the_limit_is_refused_before_anything_is_read(length: str | None, is_refused: bool):
    with pytest.raises(Refused, match="more than 10 bytes: ") if is_refused else nullcontext():
        check_length(length, 10)


async def test_a_sender_that_falls_silent_is_not_waited_for():
    async def silent() -> AsyncIterator[bytes]:
        yield b"x"
        await never

    never = asyncio.get_running_loop().create_future()
    with room() as (_, arriving), pytest.raises(Refused, match="no data for 0.01 s") as refused:
        await receive(silent(), 5_000, arriving, body_seconds=60, idle_seconds=0.01)
    assert refused.value.status == 408


async def trickling() -> AsyncIterator[bytes]:
    while True:
        yield b"x"
        await asyncio.sleep(0)


async def test_a_sender_that_trickles_has_a_deadline_for_all_of_it():
    with room(10**9) as (_, arriving), pytest.raises(Refused, match="did not arrive within 0.05 s") as refused:
        await receive(trickling(), 10**9, arriving, body_seconds=0.05)
    assert refused.value.status == 408


async def test_whoever_has_been_sending_for_longest_gives_way_to_others():
    reading = TransferBudget(100, slow_after_seconds=3600)  # however long the test takes
    with reading.one() as slow, reading.one() as quick:
        slow.hold(60)
        with pytest.raises(Refused, match="60 bytes of others") as refused:
            quick.hold(50)
        assert refused.value.status == 503
        slow.since -= 3601
        quick.hold(50)
        assert (slow.was_cancelled, quick.was_cancelled, reading.bytes) == (True, False, 50)
        slow.hold(70)
        assert reading.bytes == 50
    assert (reading.count, reading.bytes) == (0, 0)


async def test_who_gives_way_is_asked_to_come_back():
    async def waits() -> AsyncIterator[bytes]:
        yield b"x" * 60
        arriving.since -= SLOW_AFTER_SECONDS + 1
        with reading.one() as other:
            other.hold(50)
            await asyncio.get_running_loop().create_future()

    with room(100) as (reading, arriving):
        with pytest.raises(Refused, match="others wait") as refused:
            await receive(waits(), 1_000, arriving, body_seconds=60)
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "1")


async def test_a_sender_that_leaves_is_no_fault_of_ours():
    async def leaves() -> AsyncIterator[bytes]:
        yield b"x"
        raise ClientDisconnect

    with room() as (_, arriving), pytest.raises(Refused) as refused:
        await receive(leaves(), 5_000, arriving, body_seconds=60)
    assert refused.value.status == 400
