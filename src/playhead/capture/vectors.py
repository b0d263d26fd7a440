"""Packs embedding vectors in recorded responses as 32-bit floats, if that loses nothing: a quarter of their size as
JSON.

Providers compute with 32 bits, so nearly every vector is packed.
"""

import base64
import binascii
from array import array

from playhead.errors import CannotRestore
from playhead.model.json_value import JsonValue, list_of

_KEY = "$f32"  # base64 of little-endian floats


def pack_vector(values: JsonValue) -> JsonValue:
    """Packs a vector as a JSON value.  Returns it unchanged if it is not a list of floats, or if a number needs 64
    bits."""
    numbers = [value for value in list_of(values) if type(value) is float]
    # 0 == 0.0, so types are compared, too: a vector with integers is not packed.
    if not isinstance(values, list) or not values or len(numbers) < len(values):
        return values
    try:
        packed = array("f", numbers)
    except OverflowError:
        return values
    if packed.tolist() != numbers:
        return values
    return {_KEY: base64.b64encode(_little_endian(packed).tobytes()).decode()}


def unpack_vector(value: JsonValue) -> JsonValue:
    """Reverses `pack_vector`.  Raises CannotRestore if a packed vector cannot be read."""
    if not isinstance(value, dict) or _KEY not in value:
        return value
    data, packed = value[_KEY], array("f")
    try:
        if not isinstance(data, str):
            raise TypeError("it is not a text")
        packed.frombytes(base64.b64decode(data, validate=True))
    except (binascii.Error, TypeError, ValueError) as error:
        raise CannotRestore(f"a recorded embedding cannot be read ({error}); fork the run before this call") from error
    return [*_little_endian(packed)]


def _little_endian(values: "array[float]") -> "array[float]":
    if array("H", [1]).tobytes() == b"\x00\x01":
        values.byteswap()
    return values
