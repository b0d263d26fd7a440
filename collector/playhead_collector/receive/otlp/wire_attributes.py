"""Reads the attributes of a large span or log record from protobuf's wire format.  Pure; used by `from_protobuf`.

A span is large nearly always because of text in its attributes. Their number must be known before they are parsed,
since a parsed message takes up to a hundred times its encoded size; but counting them takes longer than reading them.
So this module counts and reads in one pass: 0.6 us for each text. All other values and fields are left to `protobuf`.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from playhead.model.span import Attributes
from playhead_collector.receive.otlp.protobuf_wire import Malformed, after_field, count_parts, varint

# A KeyValue has field 1, the key, and field 2, an AnyValue, whose field 1 is a text. All are length-delimited.
_KEY, _VALUE, _TEXT = 0x0A, 0x12, 0x0A
_LEAST_VALUE_BYTES: Final = 4
# Names and sizes repeat with every span: so many are cached, of at most 127 bytes each.
_REMEMBERED: Final = 4_096
# Maximum of fields of a span or record that are not attributes, besides events and links: OTLP has fewer than twenty.
_MAX_FIELDS: Final = 1_000


class TooManyParts(ValueError):
    """The message has more parts than are allowed."""


def take_attributes(
    data: bytes, number: int, most_parts: int, value_of: Callable[[KeyValue], Any]
) -> tuple[Attributes, bytes, int]:
    """Returns the attributes of a message (its field `number`), the message without them, and the number of parts in
    the attributes at any depth. `value_of` reads values that are not texts.

    Raises Malformed, DecodeError, and TooManyParts above `most_parts`.
    """
    attributes: Attributes = {}
    others: list[bytes] = []
    tag, parts, fields = number << 3 | 2, 0, most_parts + _MAX_FIELDS
    offset = stop = 0
    end = len(data)
    try:
        while offset < end:
            if data[offset] != tag:
                offset, fields = after_field(data, offset, end), fields - 1
                if fields < 0:
                    raise TooManyParts
                continue
            others.append(data[stop:offset])
            size, offset = data[offset + 1], offset + 2
            if size > 127:
                size, offset = varint(data, offset - 1)
            stop = offset + size
            if stop > end:
                raise Malformed("a field ends after its message")
            value = offset + 2 + data[offset + 1]
            header = _text_header(stop - value)
            if header and data[offset] == _KEY and data[offset + 1] < 128 and data.startswith(header, value):
                parts += 2
                attributes[_key(data[offset + 2 : value])] = data[value + len(header) : stop].decode()
            else:
                parts += _take_other(data[offset:stop], attributes, most_parts - parts, value_of)
            if parts > most_parts:
                raise TooManyParts
            offset = stop
    except IndexError:
        raise Malformed("it ends too early") from None
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None
    return attributes, b"".join([*others, data[stop:]]), parts


def _take_other(data: bytes, attributes: Attributes, most_parts: int, value_of: Callable[[KeyValue], Any]) -> int:
    """Adds an attribute of any kind; returns its number of parts."""
    parts = 1 + count_parts(data, "KeyValue", most_parts)
    if parts <= most_parts:
        pair = KeyValue.FromString(data)
        attributes[pair.key] = value_of(pair)
    return parts


@lru_cache(_REMEMBERED)
def _key(data: bytes) -> str:
    return data.decode()


@lru_cache(_REMEMBERED)
def _text_header(size: int) -> bytes:
    """Returns the bytes before a text in the AnyValue of a KeyValue, if header and text together take `size` bytes;
    empty if no text fits. Assumes that lengths are encoded in as few bytes as possible."""
    for lengths in range(2, 11):
        inner = lengths // 2
        text = size - lengths - 2
        header = b"%c%b%c%b" % (_VALUE, _encoded(text + inner + 1), _TEXT, _encoded(text))
        if text >= 0 and len(header) == lengths + 2:
            return header
    return b""


def _encoded(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(max(number, 0))
    return bytes(out)
