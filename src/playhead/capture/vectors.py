"""Embedding vectors in recorded responses: as 32-bit floats where that loses nothing, a quarter of their size as JSON.

Providers compute with 32 bits, so nearly every vector is kept this way.
"""

import base64
import binascii
from array import array
from typing import Any, cast

from playhead.errors import CannotRestore

_KEY = "$f32"  # base64 of little-endian floats


def pack_vector(values: Any) -> Any:
    """Packs a vector as a JSON value.  Returns it unchanged if it is not a list of floats, or needs 64 bits."""
    if not isinstance(values, list) or not values:
        return cast(Any, values)
    given = cast("list[Any]", values)
    try:
        packed = array("f", given)
    except (TypeError, OverflowError):
        return given
    # 0 == 0.0, so integers are looked for, too: a vector that has any is kept as it is.
    if packed.tolist() != given or any(type(value) is not float for value in given):
        return given
    return {_KEY: base64.b64encode(_little_endian(packed).tobytes()).decode()}


def unpack_vector(kept: Any) -> Any:
    """Reverses `pack_vector`.  Raises CannotRestore."""
    if not isinstance(kept, dict) or _KEY not in kept:
        return cast(Any, kept)
    packed = array("f")
    try:
        packed.frombytes(base64.b64decode(cast("dict[str, str]", kept)[_KEY], validate=True))
    except (binascii.Error, TypeError, ValueError) as error:
        raise CannotRestore(f"a recorded embedding cannot be read ({error}); fork the run before this call") from error
    return _little_endian(packed).tolist()


def _little_endian(values: "array[float]") -> "array[float]":
    if array("H", [1]).tobytes() == b"\x00\x01":
        values.byteswap()
    return values
