"""Writes AWS's binary event streams (`application/vnd.amazon.eventstream`), one frame per event.  Pure.

A frame is its length, the length of its headers, a checksum of these two, the headers, the payload, and a checksum of
all that; integers are 4 bytes, most significant first, checksums CRC-32.
"""

import struct
import zlib
from collections.abc import Mapping

from playhead.model.canonical import canonical_json

_TEXT = 7  # the type of a header whose value is a string
_OVERHEAD = 16  # two lengths and two checksums


def event_frame(event: str, payload: Mapping[str, object]) -> bytes:
    """Returns the frame of an event with a JSON payload."""
    about = {":event-type": event, ":content-type": "application/json", ":message-type": "event"}
    return frame(about, canonical_json(payload))


def exception_frame(kind: str, payload: Mapping[str, object]) -> bytes:
    """Returns the frame of an exception of the service's model; such a frame ends a stream."""
    about = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(about, canonical_json(payload))


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Returns one frame with these headers."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack("!II", _OVERHEAD + len(head) + len(payload), len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", _TEXT, len(text)) + text
