"""Values in rows of other tools' exports: times, JSON in texts, and nested values as attributes."""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, cast

from playhead.model.canonical import canonical_json, parse_json

_NS = 1_000_000_000
# A number of this many digits or more is a time in ns, us or ms since 1970; a smaller one is in seconds.
_UNITS = ((10**17, 1), (10**14, 1_000), (10**11, 1_000_000), (0, _NS))
_HEX = set("0123456789abcdef")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Deeper values are kept as JSON: they may come from anywhere.
_MAX_DEPTH = 32


def is_absent(value: Any) -> bool:
    """Whether a table has nothing in this cell: null, or NaN, which data frames write for it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def time_ns(value: Any) -> int | None:
    """A time as ns since 1970, from RFC 3339 (without a zone: UTC), a number or a datetime.  Raises ValueError."""
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


def json_in(value: Any) -> Any:
    """The value that a text holds as JSON; any other value as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def as_text(value: Any) -> str:
    """A value as SDKs put it into an attribute: text as it is, all else as JSON."""
    return value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")


def flattened(prefix: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Attributes from a nested value: `a.b` of objects, `a.0.b` of lists of objects; other lists as they are."""
    if is_absent(value):
        return
    if depth > _MAX_DEPTH:
        yield prefix, as_text(value)
    elif isinstance(value, dict):
        for key, inner in cast(dict[str, Any], value).items():
            yield from flattened(f"{prefix}.{key}" if prefix else str(key), inner, depth + 1)
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in cast(list[Any], value)):
        for number, inner in enumerate(cast(list[Any], value)):
            yield from flattened(f"{prefix}.{number}", inner, depth + 1)
    else:
        yield prefix, value


def trace_id(value: Any) -> str:
    """An id of 32 hex digits: the given one, a UUID's digits, or the same one for the same text.  Raises ValueError."""
    return _id(value, 32, str(value))


def span_id(value: Any, trace: str) -> str:
    """An id of 16 hex digits, as `trace_id`; of a text, one within its trace."""
    return _id(value, 16, f"{trace}/{value}")


def _id(value: Any, digits: int, unique: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"an id is {str(value)[:50]!r}, not a text")
    plain = value.replace("-", "").lower()
    if len(plain) == digits and set(plain) <= _HEX and set(plain) != {"0"}:
        return plain
    return sha256(unique.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def first_of(row: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first of these keys that has one."""
    return next((row[key] for key in keys if not is_absent(row.get(key))), None)
