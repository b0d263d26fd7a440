"""Reads a span's kind from an attribute of a dialect."""

from collections.abc import Mapping
from typing import Any

from playhead.model.span import Attributes


def kind_from(attributes: Attributes, key: str, kinds: Mapping[str, str]) -> str | None:
    """Returns the kind for the attribute's value, ignoring case; None if `kinds` does not have it."""
    value: Any = attributes.get(key)
    return kinds.get(value.lower()) if isinstance(value, str) else None
