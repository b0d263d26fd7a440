"""Reads OTLP requests in protobuf from a stream of bytes: one request, or many, each after its length.

| form | written by |
|---|---|
| one request | a program that saves a request's body |
| 4 bytes of length, big endian | OpenTelemetry's file exporter; with its `compression`, each message is a zstd frame |
| a varint of length | protobuf's own delimited format |
"""

from collections.abc import Callable, Iterator

import zstandard

from playhead.archive.documents import Read, too_long
from playhead.archive.records import FilePlace, OtlpRecord, UnreadableRecord, protobuf_records

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE = 1024 * 1024
# The first byte of a request that is not empty: the tag of its field 1, a message.
_FIRST = 0x0A
_HEAD = 4


class _Bytes:
    """Buffers a stream, and reads only as much of it as is needed."""

    def __init__(self, first: bytes, read: Read) -> None:
        self._held = bytearray(first)
        self._read = read
        self.has_ended = False

    def peek(self, count: int) -> bytes:
        """Returns the next bytes without removing them; fewer at the end."""
        while len(self._held) < count and not self.has_ended:
            piece = self._read(max(_PIECE, count - len(self._held)))
            self.has_ended = not piece
            self._held += piece
        return bytes(self._held[:count])

    def take(self, count: int) -> bytes:
        """Removes and returns the next bytes; fewer at the end."""
        data = self.peek(count)
        del self._held[: len(data)]
        return data


def protobuf_file(first: bytes, read: Read, file: str, most: int) -> Iterator[OtlpRecord | UnreadableRecord]:
    """Yields the records of all requests of a file. A request of more than `most` bytes is reported and not read."""
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
    records = list(protobuf_records(whole, FilePlace(file, 1), file.lower()))
    if any(isinstance(record, OtlpRecord) for record in records) or not _is_delimited(whole):
        yield from records
    else:
        yield from _delimited(data, _varint_length, file, most)


def _is_delimited(data: bytes) -> bool:
    """Whether the data consists of messages with varint lengths before them and ends with the last message."""
    offset = 0
    while offset < len(data):
        size, offset = _varint(data, offset)
        if size is None:
            return False
        offset += size
    return offset == len(data)


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
    size, end = _varint(head, 0)
    data.take(end)
    return size


def _varint(data: bytes, offset: int) -> tuple[int | None, int]:
    value = shift = 0
    while offset < len(data) and shift < 64:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
    return None, offset
