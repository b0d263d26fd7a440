"""Reads fields and values of OTLP's JSON.  Pure; used by [receive]'s `from_json`.

All functions raise Unusable, with the value in the message, for what they cannot read.
"""

import base64
import binascii
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from playhead.model.span import Attributes
from playhead_collector.receive.otlp.decoded import MAX_DEPTH, Unusable, check_time

Object = dict[str, Any]

_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_ENUMS = {f"SPAN_KIND_{name}": n for n, name in enumerate(_KINDS)} | {
    f"STATUS_CODE_{name}": n for n, name in enumerate(("UNSET", "OK", "ERROR"))
}


# --- values ----------------------------------------------------------------------------------------------------------


def attributes_of(owner: Object, field: str = "attributes", depth: int = 0) -> Attributes:
    """Returns a list of key-value pairs as a mapping."""
    return {text(pair, "key"): plain(get(pair, "value"), depth) for pair in objects(owner, field)}


def plain(value: Any, depth: int = 0) -> Any:
    """Returns the Python value of an AnyValue; None for an unknown kind."""
    if value is None:
        return None
    if depth > MAX_DEPTH:
        raise Unusable(f"an attribute is nested more than {MAX_DEPTH} levels deep: send it flatter, or as JSON text")
    if not isinstance(value, dict):
        raise Unusable(f"an attribute's value is {_shown(value)} and not an object such as {{'stringValue': ...}}")
    for name, item in cast(Object, value).items():
        if item is not None and (read := _READ.get(_camel(name))):
            return read(item, depth)
    return None


def _string(value: Any, _: int) -> str:
    if isinstance(value, str):
        return value
    raise Unusable(f"a stringValue is {_shown(value)}, not text")


def _boolean(value: Any, _: int) -> bool:
    if isinstance(value, bool):
        return value
    raise Unusable(f"a boolValue is {_shown(value)}, not true or false")


def _double(value: Any, _: int) -> float:
    try:
        return float(value)  # also accepts 'NaN', 'Infinity' and '-Infinity'
    except (TypeError, ValueError, OverflowError):
        raise Unusable(f"a doubleValue is {_shown(value)}, not a number") from None


def _bytes(value: Any, _: int) -> bytes:
    try:
        standard = value.translate(str.maketrans("-_", "+/"))  # protobuf's JSON allows both alphabets, padded or not
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (AttributeError, TypeError, ValueError, binascii.Error):
        raise Unusable(f"a bytesValue is {_shown(value)}, not base64") from None


def _array(value: Any, depth: int) -> list[Any]:
    return [plain(item, depth + 1) for item in list_of(as_object(value), "values")]


def _map(value: Any, depth: int) -> Attributes:
    return attributes_of(as_object(value), "values", depth + 1)


def integer(value: Any, _: int = 0) -> int:
    """Returns an integer that was sent as a number or as text; 0 when it is missing."""
    if value is None:
        return 0
    try:
        number = int(value) if isinstance(value, str | int) else round(value)
    except (TypeError, ValueError, OverflowError):
        raise Unusable(f"{_shown(value)} is not an integer") from None
    if number != value and not isinstance(value, str):
        raise Unusable(f"{_shown(value)} is not an integer")
    if not -(2**63) <= number < 2**64:
        raise Unusable(f"{_shown(value)} has more than 64 bits")
    return number


_READ: dict[str, Callable[[Any, int], Any]] = {
    "stringValue": _string,
    "intValue": integer,
    "boolValue": _boolean,
    "doubleValue": _double,
    "bytesValue": _bytes,
    "arrayValue": _array,
    "kvlistValue": _map,
}


# --- fields ----------------------------------------------------------------------------------------------------------


def get(owner: Object, name: str) -> Any:
    """Returns a field, by its name in camelCase or in snake_case; None when it is missing."""
    value = owner.get(name)
    return owner.get(_snake(name)) if value is None else value


def list_of(owner: Object, name: str) -> list[Any]:
    """Returns a repeated field; empty when it is missing."""
    value = get(owner, name)
    if value is None:
        return []
    if isinstance(value, list):
        return cast(list[Any], value)
    raise Unusable(f"{name} is {_shown(value)}, not a list")


def objects(owner: Object, name: str) -> list[Object]:
    """Returns a repeated field of messages."""
    return [as_object(item, name) for item in list_of(owner, name)]


def object_of(owner: Object, name: str) -> Object:
    """Returns a field that is a message; empty when it is missing."""
    value = get(owner, name)
    return {} if value is None else as_object(value, name)


def as_object(value: Any, name: str = "it") -> Object:
    """Returns the value, checked to be a message (a JSON object)."""
    if isinstance(value, dict):
        return cast(Object, value)
    raise Unusable(f"{name} is {_shown(value)}, not an object")


def text(owner: Object, name: str) -> str:
    """Returns a text field; empty when it is missing."""
    value = get(owner, name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise Unusable(f"{name} is {_shown(value)}, not text")


def hex_of(owner: Object, name: str) -> bytes:
    """Returns the bytes of an id; empty when it is missing."""
    digits = text(owner, name)
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise Unusable(f"{name} is {_shown(digits)}: ids are hex digits in OTLP's JSON") from None


def time_ns(owner: Object, name: str) -> int:
    """Returns a field that is a time, in ns since 1970."""
    return check_time(integer(get(owner, name)))


def enum(value: Any) -> int:
    """Returns the number of an enum value, which may be sent as its name."""
    return _ENUMS[value] if isinstance(value, str) and value in _ENUMS else integer(value)


@cache  # called with a few dozen names of fields
def _snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _shown(value: object) -> str:
    return repr(value)[:100]
