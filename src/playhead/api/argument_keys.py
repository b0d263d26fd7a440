"""Texts that are equal exactly for arguments that are equal, in value and in type. Pure."""

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

_MOST_DEPTH = 50
_BY_REPR = (date, datetime, time, timedelta, Decimal, UUID, PurePath)


class NotAKey(ValueError):
    """A value whose equality is not known from the outside, such as a client or a connection."""


def key_text(value: object) -> str:
    """Returns the text. Raises NotAKey."""
    return repr(_tree(value, _MOST_DEPTH))


def _tree(value: Any, depth: int) -> Any:
    """Returns nested tuples of type names and texts. `1`, `1.0`, `True` and `"1"` are four different arguments."""
    if depth == 0:
        raise NotAKey("an argument is nested too deeply")
    kind: type[Any] = type(cast(object, value))
    if value is None or kind in (bool, int, float, complex, str, bytes):
        return kind.__name__, repr(value)
    if kind in (list, tuple):
        return kind.__name__, *(_tree(item, depth - 1) for item in value)
    if kind in (set, frozenset):
        return kind.__name__, *sorted(repr(_tree(item, depth - 1)) for item in value)
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return _name(kind), *sorted(repr((_tree(key, depth - 1), _tree(item, depth - 1))) for key, item in items)
    if isinstance(value, Enum):
        return _name(kind), value.name
    if isinstance(value, _BY_REPR):
        return _name(kind), repr(value)
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _name(kind), _tree(fields, depth - 1)
    if callable(getattr(kind, "model_dump", None)):  # pydantic
        return _name(kind), _tree(value.model_dump(), depth - 1)
    raise NotAKey(f"an argument is a {kind.__name__}, which is no plain value")


def _name(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
