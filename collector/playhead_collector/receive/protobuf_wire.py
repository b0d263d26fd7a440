"""An OTLP request's spans or log records as bytes, without reading what is in them.  Pure.

For requests that the protobuf library refuses as a whole because of one item in them. Traces and logs have the same
numbers of fields down to the item: resource 1 and scopes 2, scope 1 and items 2.
"""

from collections.abc import Iterator

_BYTES = 2


class NotWire(ValueError):
    """These bytes are no protobuf message."""


def items_in(request: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Each item with its scope and its resource. Raises NotWire."""
    for of_resource in _fields(request, 1):
        resource = b"".join(_fields(of_resource, 1))  # the same message in parts is one message in protobuf
        for of_scope in _fields(of_resource, 2):
            scope = b"".join(_fields(of_scope, 1))
            for item in _fields(of_scope, 2):
                yield item, scope, resource


def _fields(message: bytes, wanted: int) -> Iterator[bytes]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                _, at = _varint(message, at)
                end = at
            case 1:
                end = at + 8
            case 2:
                size, at = _varint(message, at)
                end = at + size
            case 5:
                end = at + 4
            case other:
                raise NotWire(f"wire type {other} at byte {at}")
        if end > len(message):
            raise NotWire("it is cut off")
        if key >> 3 == wanted and key & 7 == _BYTES:
            yield message[at:end]
        at = end


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise NotWire("a number does not end")
