"""Reads values in rows of other tools' exports: times, ids, JSON in texts, and nested values as attributes."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256

from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import JsonMapping, JsonValue

_NS = 1_000_000_000
# Least value of a number, and ns per unit: a time since 1970 in ns, us or ms; a smaller number is in seconds.
_UNITS = ((10**17, 1), (10**14, 1_000), (10**11, 1_000_000), (0, _NS))
_HEX = set("0123456789abcdef")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Deeper values are kept as JSON: rows may come from any source.
_MAX_DEPTH = 32


def is_absent(value: object) -> bool:
    """Whether a cell of a table is empty: null, or NaN, which data frames write for null."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def time_ns(value: JsonValue | datetime) -> int | None:
    """Returns a time as ns since 1970, from RFC 3339 (without a zone: UTC), a number or a datetime. None: the cell is
    empty. Raises ValueError."""
    if is_absent(value) or value == "":
        return None
    if isinstance(value, datetime):
        return _of_datetime(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        unit = next(unit for least, unit in _UNITS if abs(value) >= least)
        return int(value * unit)
    if isinstance(value, str):
        return _of_datetime(datetime.fromisoformat(value.strip().replace("Z", "+00:00")))
    raise ValueError(f"{str(value)[:50]!r} is no time")


def _of_datetime(value: datetime) -> int:
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * _NS + since.microseconds * 1_000


def json_in(value: JsonValue) -> JsonValue:
    """Returns the object or list that a text holds as JSON; any other value unchanged."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def as_text(value: object) -> str:
    """Returns a value as SDKs write it to an attribute: a text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")


def flattened(prefix: str, value: JsonValue, depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """Yields the attributes of a nested value: `a.b` for objects, `a.0.b` for lists of objects; other lists stay
    unchanged."""
    if is_absent(value):
        return
    if depth > _MAX_DEPTH:
        yield prefix, as_text(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from flattened(f"{prefix}.{key}" if prefix else str(key), inner, depth + 1)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, inner in enumerate(value):
            yield from flattened(f"{prefix}.{number}", inner, depth + 1)
    else:
        yield prefix, value


def trace_id(value: JsonValue) -> str:
    """Returns an id of 32 hex digits: the digits of the value if it has them (a UUID, too), else the beginning of the
    text's hash. Raises ValueError if the value is not a text."""
    return _id(value, 32, str(value))


def span_id(value: JsonValue, trace: str) -> str:
    """Returns an id of 16 hex digits, like `trace_id`; a hash is of the trace id and the text."""
    return _id(value, 16, f"{trace}/{value}")


def _id(value: JsonValue, digits: int, unique: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"an id is {str(value)[:50]!r}, not a text")
    plain = value.replace("-", "").lower()
    if len(plain) == digits and set(plain) <= _HEX and set(plain) != {"0"}:
        return plain
    return sha256(unique.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def first_of(row: JsonMapping, *keys: str) -> JsonValue:
    """Returns the value of the first of these keys that has one; None if none has."""
    return next((row[key] for key in keys if not is_absent(row.get(key))), None)
