"""OTLP requests in protobuf within a stream of bytes: one request, or many with their lengths before them.

| form | written by |
|---|---|
| one request | a body that was kept as it was sent |
| 4 bytes of length, big endian | OpenTelemetry's file exporter; with its `compression`, each message is a zstd frame |
| a varint of length | protobuf's own delimited format |
"""

from collections.abc import Callable, Iterator

import zstandard

from playhead.archive.documents import Read, too_long
from playhead.archive.records import FilePlace, OtlpRecord, UnreadableRecord, protobuf_records

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE = 1024 * 1024
# The first byte of a request that is not empty: its field 1, a message.
_FIRST = 0x0A
_HEAD = 4


class _Bytes:
    """Bytes of a stream, read as far as they are asked for."""

    def __init__(self, first: bytes, read: Read) -> None:
        self._held = bytearray(first)
        self._read = read
        self.has_ended = False

    def peek(self, count: int) -> bytes:
        """The next bytes; fewer at the end."""
        while len(self._held) < count and not self.has_ended:
            piece = self._read(max(_PIECE, count - len(self._held)))
            self.has_ended = not piece
            self._held += piece
        return bytes(self._held[:count])

    def take(self, count: int) -> bytes:
        """The next bytes, which are gone then; fewer at the end."""
        taken = self.peek(count)
        del self._held[: len(taken)]
        return taken


def protobuf_file(first: bytes, read: Read, file: str, most: int) -> Iterator[OtlpRecord | UnreadableRecord]:
    """The records of all requests of a file.  A request of more than `most` bytes is not read."""
    data = _Bytes(first, read)
    head = data.peek(_HEAD + len(ZSTD_MAGIC))
    size = int.from_bytes(head[:_HEAD], "big")
    begins = head[_HEAD : _HEAD + 1] == bytes([_FIRST]) or head[_HEAD:] == ZSTD_MAGIC
    if size <= most and begins and len(data.peek(_HEAD + size)) == _HEAD + size:
        yield from _delimited(data, _fixed_length, file, most)
        return
    whole = data.peek(most + 1)
    if len(whole) > most:
        yield from _delimited(data, _varint_length, file, most)
        return
    found = list(protobuf_records(whole, FilePlace(file, 1), file.lower()))
    if any(isinstance(each, OtlpRecord) for each in found) or not _is_delimited(whole):
        yield from found
    else:
        yield from _delimited(data, _varint_length, file, most)


def _is_delimited(data: bytes) -> bool:
    """Whether the lengths before messages lead exactly to the end."""
    at = 0
    while at < len(data):
        size, at = _varint(data, at)
        if size is None:
            return False
        at += size
    return at == len(data)


def _delimited(
    data: _Bytes, length: Callable[[_Bytes], int | None], file: str, most: int
) -> Iterator[OtlpRecord | UnreadableRecord]:
    number = 0
    while data.peek(1):
        number += 1
        where = FilePlace(file, number)
        size = length(data)
        if size is None or size > most:
            yield UnreadableRecord(
                where,
                "no length of a message is here, and what follows cannot be read" if size is None else too_long(most),
            )
            return
        message = data.take(size)
        if len(message) < size:
            yield UnreadableRecord(where, "the file ends within this message: a part of it is missing")
            return
        if message.startswith(ZSTD_MAGIC):
            try:
                message = zstandard.ZstdDecompressor().decompress(message, max_output_size=most)
            except zstandard.ZstdError as error:
                yield UnreadableRecord(where, f"it cannot be decompressed ({error})")
                continue
        yield from protobuf_records(message, where, file.lower())


def _fixed_length(data: _Bytes) -> int | None:
    head = data.take(_HEAD)
    return int.from_bytes(head, "big") if len(head) == _HEAD else None


def _varint_length(data: _Bytes) -> int | None:
    head = data.peek(10)
    size, at = _varint(head, 0)
    data.take(at)
    return size


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return None, at
