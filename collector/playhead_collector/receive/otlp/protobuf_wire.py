"""Walks protobuf's wire format without creating objects.  Pure; used by [receive]'s `from_protobuf`.

A parsed message takes up to a hundred times its encoded size, so a request is not parsed as a whole: its spans are
found here, and parsed one at a time. Walking costs 0.3 us per field.
"""

from collections.abc import Iterator, Mapping
from typing import Final

# Field numbers of nested messages, by the name of the outer message, as in `opentelemetry/proto`.
Nested = Mapping[str, Mapping[int, str]]
_VALUES: Final = {
    "KeyValue": {2: "AnyValue"},
    "AnyValue": {5: "ArrayValue", 6: "KeyValueList"},
    "ArrayValue": {1: "AnyValue"},
    "KeyValueList": {1: "KeyValue"},
}
NESTED: Final[Nested] = {
    "Span": {9: "KeyValue", 11: "Event", 13: "Link"},
    "Event": {3: "KeyValue"},
    "Link": {4: "KeyValue"},
    "LogRecord": {5: "AnyValue", 6: "KeyValue"},
    "Resource": {1: "KeyValue"},
    "InstrumentationScope": {3: "KeyValue"},
    **_VALUES,
}
# Numbers in one message. Those that OTLP has are fewer than twenty in a span, and none around spans.
_MAX_NUMBERS: Final = 1_000
_LENGTH_DELIMITED, _VARINT, _FIXED64, _FIXED32 = 2, 0, 1, 5


class Malformed(ValueError):
    """These bytes are not in protobuf's wire format."""


def chunks(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(field number, start, end) of each length-delimited field between two offsets. Raises Malformed."""
    numbers = 0
    try:
        while at < end:
            key = data[at]
            at += 1
            if key > 127:
                key, at = varint(data, at - 1)
            kind = key & 7
            if kind == _LENGTH_DELIMITED:
                size = data[at]
                at += 1
                if size > 127:
                    size, at = varint(data, at - 1)
                stop = at + size
                if stop > end:
                    raise Malformed("a field ends after its message")
                yield key >> 3, at, stop
                at = stop
                continue
            numbers += 1
            if numbers > _MAX_NUMBERS:
                raise Malformed(f"a message has more than {_MAX_NUMBERS} numbers")
            at = _after_number(data, at, kind)
    except IndexError:
        raise Malformed("it ends too early") from None
    if at != end:
        raise Malformed("a field ends after its message")


def field(data: bytes, at: int, end: int, number: int) -> bytes:
    """The bytes of a message field; several occurrences are joined, as protobuf specifies. Raises Malformed."""
    return b"".join([data[start:stop] for found, start, stop in chunks(data, at, end) if found == number])


def count_parts(data: bytes, message: str, most: int) -> int:
    """The number of messages within this one, at any depth; any number above `most` means more. Raises Malformed."""
    count = 0
    waiting = [(message, 0, len(data))]
    while waiting:
        name, at, end = waiting.pop()
        inner = NESTED[name]
        for number, start, stop in chunks(data, at, end):
            if (kind := inner.get(number)) is not None:
                count += 1
                if count > most:
                    return count
                if stop > start and kind in NESTED:
                    waiting.append((kind, start, stop))
    return count


def after_field(data: bytes, at: int, end: int) -> int:
    """The offset of the field after the one at `at`. Raises Malformed, and IndexError when the data end in it."""
    key, at = varint(data, at)
    kind = key & 7
    if kind == _LENGTH_DELIMITED:
        size, at = varint(data, at)
        at += size
    else:
        at = _after_number(data, at, kind)
    if at > end:
        raise Malformed("a field ends after its message")
    return at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset after it. Raises Malformed, and IndexError when the data end in it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 64 bits")


def _after_number(data: bytes, at: int, kind: int) -> int:
    if kind == _VARINT:
        return varint(data, at)[1]
    if kind not in {_FIXED64, _FIXED32}:
        raise Malformed(f"wire type {kind} is not used here")
    return at + (8 if kind == _FIXED64 else 4)
