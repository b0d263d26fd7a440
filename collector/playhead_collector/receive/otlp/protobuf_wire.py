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
# Maximum of numeric fields in one message. OTLP has fewer than twenty in a span, and none in the messages around spans.
_MAX_NUMBERS: Final = 1_000
_LENGTH_DELIMITED, _VARINT, _FIXED64, _FIXED32 = 2, 0, 1, 5


class Malformed(ValueError):
    """These bytes are not in protobuf's wire format."""


def chunks(data: bytes, offset: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yields (field number, start, end) of each length-delimited field between two offsets. Raises Malformed."""
    numbers = 0
    try:
        while offset < end:
            key = data[offset]
            offset += 1
            if key > 127:
                key, offset = varint(data, offset - 1)
            kind = key & 7
            if kind == _LENGTH_DELIMITED:
                size = data[offset]
                offset += 1
                if size > 127:
                    size, offset = varint(data, offset - 1)
                stop = offset + size
                if stop > end:
                    raise Malformed("a field ends after its message")
                yield key >> 3, offset, stop
                offset = stop
                continue
            numbers += 1
            if numbers > _MAX_NUMBERS:
                raise Malformed(f"a message has more than {_MAX_NUMBERS} numbers")
            offset = _after_number(data, offset, kind)
    except IndexError:
        raise Malformed("it ends too early") from None
    if offset != end:
        raise Malformed("a field ends after its message")


def field(data: bytes, offset: int, end: int, number: int) -> bytes:
    """Returns the bytes of a message field; several occurrences are joined, as protobuf specifies. Raises Malformed."""
    return b"".join(
        [data[start:stop] for field_number, start, stop in chunks(data, offset, end) if field_number == number]
    )


def count_parts(data: bytes, message: str, most: int) -> int:
    """Returns the number of messages inside this one, at any depth. A result above `most` means only "more". Raises
    Malformed."""
    count = 0
    waiting = [(message, 0, len(data))]
    while waiting:
        name, offset, end = waiting.pop()
        inner = NESTED[name]
        for number, start, stop in chunks(data, offset, end):
            if (kind := inner.get(number)) is not None:
                count += 1
                if count > most:
                    return count
                if stop > start and kind in NESTED:
                    waiting.append((kind, start, stop))
    return count


def after_field(data: bytes, offset: int, end: int) -> int:
    """Returns the offset of the field after the one at `offset`. Raises Malformed, and IndexError when the data end
    inside the field."""
    key, offset = varint(data, offset)
    kind = key & 7
    if kind == _LENGTH_DELIMITED:
        size, offset = varint(data, offset)
        offset += size
    else:
        offset = _after_number(data, offset, kind)
    if offset > end:
        raise Malformed("a field ends after its message")
    return offset


def varint(data: bytes, offset: int) -> tuple[int, int]:
    """Returns the number at an offset, and the offset after it. Raises Malformed, and IndexError when the data end
    inside it."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 64 bits")


def _after_number(data: bytes, offset: int, kind: int) -> int:
    if kind == _VARINT:
        return varint(data, offset)[1]
    if kind not in {_FIXED64, _FIXED32}:
        raise Malformed(f"wire type {kind} is not used here")
    return offset + (8 if kind == _FIXED64 else 4)
