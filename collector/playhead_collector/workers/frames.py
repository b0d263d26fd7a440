"""Messages on a pipe: a JSON object, and bytes that nobody has to parse.

length of the object, length of the bytes (4 bytes each, big-endian) | object | bytes
"""

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, cast

LENGTHS = struct.Struct("!II")


def encode(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """A message."""
    said = json.dumps(head).encode("ascii")  # what a client asks for may be no UTF-8
    return b"".join((LENGTHS.pack(len(said), len(body)), said, body))


def head_of(data: bytes) -> dict[str, Any]:
    """The object of a message."""
    return cast(dict[str, Any], json.loads(data))


def read(exactly: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes]:
    """The next message, from what gives the next n bytes.  Raises what that raises."""
    head, body = LENGTHS.unpack(exactly(LENGTHS.size))
    return head_of(exactly(head)), exactly(body)
