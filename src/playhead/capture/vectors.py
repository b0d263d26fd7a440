"""Packs embedding vectors in recorded responses as 32-bit floats, if that loses nothing: a quarter of their size as
JSON.

Providers compute with 32 bits, so nearly every vector is packed.
"""

import base64
import binascii
from array import array
from typing import Any, cast

from playhead.errors import CannotRestore

_KEY = "$f32"  # base64 of little-endian floats


def pack_vector(values: Any) -> Any:
    """Packs a vector as a JSON value.  Returns it unchanged if it is not a list of floats, or if a number needs 64
    bits."""
    if not isinstance(values, list) or not values:
        return cast(Any, values)
    items = cast("list[Any]", values)
    try:
        packed = array("f", items)
    except (TypeError, OverflowError):
        return items
    # 0 == 0.0, so types are compared, too: a vector with integers is not packed.
    if packed.tolist() != items or any(type(value) is not float for value in items):
        return items
    return {_KEY: base64.b64encode(_little_endian(packed).tobytes()).decode()}


def unpack_vector(value: Any) -> Any:
    """Reverses `pack_vector`.  Raises CannotRestore if a packed vector cannot be read."""
    if not isinstance(value, dict) or _KEY not in value:
        return cast(Any, value)
    packed = array("f")
    try:
        packed.frombytes(base64.b64decode(cast("dict[str, str]", value)[_KEY], validate=True))
    except (binascii.Error, TypeError, ValueError) as error:
        raise CannotRestore(f"a recorded embedding cannot be read ({error}); fork the run before this call") from error
    return _little_endian(packed).tolist()


def _little_endian(values: "array[float]") -> "array[float]":
    if array("H", [1]).tobytes() == b"\x00\x01":
        values.byteswap()
    return values
