"""Messages on a pipe: a JSON object, and bytes that are passed on without parsing.

length of the object, length of the bytes (4 bytes each, big-endian) | object | bytes
"""

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, cast

LENGTHS = struct.Struct("!II")


def encode(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Returns the bytes of a message."""
    head_bytes = json.dumps(head).encode("ascii")  # options may hold lone surrogates, which UTF-8 cannot encode
    return b"".join((LENGTHS.pack(len(head_bytes), len(body)), head_bytes, body))


def head_of(data: bytes) -> dict[str, Any]:
    """Parses the JSON object of a message."""
    return cast(dict[str, Any], json.loads(data))


def read(exactly: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes]:
    """Reads the next message. `exactly(n)` returns the next n bytes; its errors pass through."""
    head, body = LENGTHS.unpack(exactly(LENGTHS.size))
    return head_of(exactly(head)), exactly(body)
