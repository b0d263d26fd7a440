"""Reads the attributes of a large span or log record from protobuf's wire format.  Pure; used by `from_protobuf`.

What makes a span large is nearly always text in its attributes. Their number has to be known before they are parsed,
since a parsed message takes up to a hundred times its encoded size; and to count them takes longer than to read them.
So this does both at once: 0.6 us for each text. All other values, and all other fields, are left to `protobuf`.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from playhead.model.span import Attributes
from playhead_collector.receive.otlp.protobuf_wire import Malformed, after_field, count_parts, varint

# A KeyValue has field 1, the key, and 2, an AnyValue, whose field 1 is a text. All of them are length-delimited.
_KEY, _VALUE, _TEXT = 0x0A, 0x12, 0x0A
_LEAST_VALUE_BYTES: Final = 4
# Names and sizes come again with every span: this many are remembered, of at most 127 bytes each.
_REMEMBERED: Final = 4_096
# Fields of a span or a record that are no attributes, besides events and links: OTLP has fewer than twenty.
_MAX_FIELDS: Final = 1_000


class TooManyParts(ValueError):
    """The message has more parts than are allowed."""


def take_attributes(
    data: bytes, number: int, most_parts: int, value_of: Callable[[KeyValue], Any]
) -> tuple[Attributes, bytes, int]:
    """The attributes of a message, which are its field `number`; the message without them; and the number of parts in
    the attributes, at any depth. `value_of` reads values that are no texts.

    Raises Malformed, DecodeError, and TooManyParts above `most_parts`.
    """
    attributes: Attributes = {}
    others: list[bytes] = []
    tag, parts, fields = number << 3 | 2, 0, most_parts + _MAX_FIELDS
    at = kept = 0
    end = len(data)
    try:
        while at < end:
            if data[at] != tag:
                at, fields = after_field(data, at, end), fields - 1
                if fields < 0:
                    raise TooManyParts
                continue
            others.append(data[kept:at])
            size, at = data[at + 1], at + 2
            if size > 127:
                size, at = varint(data, at - 1)
            kept = at + size
            if kept > end:
                raise Malformed("a field ends after its message")
            value = at + 2 + data[at + 1]
            header = _text_header(kept - value)
            if header and data[at] == _KEY and data[at + 1] < 128 and data.startswith(header, value):
                parts += 2
                attributes[_key(data[at + 2 : value])] = data[value + len(header) : kept].decode()
            else:
                parts += _take_other(data[at:kept], attributes, most_parts - parts, value_of)
            if parts > most_parts:
                raise TooManyParts
            at = kept
    except IndexError:
        raise Malformed("it ends too early") from None
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None
    return attributes, b"".join([*others, data[kept:]]), parts


def _take_other(data: bytes, attributes: Attributes, most_parts: int, value_of: Callable[[KeyValue], Any]) -> int:
    """Adds an attribute of any kind; returns how many parts it has."""
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
    """What stands before a text in an AnyValue of a KeyValue, if both together take `size` bytes; empty when there is
    no such text. A length in more bytes than it needs is not looked for."""
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
