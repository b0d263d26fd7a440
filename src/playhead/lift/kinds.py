"""Which kind of span an attribute of a dialect names."""

from collections.abc import Mapping
from typing import Any

from playhead.model.span import Attributes


def kind_from(attributes: Attributes, key: str, kinds: Mapping[str, str]) -> str | None:
    """The kind, whatever the case of the value; None when it names none."""
    value: Any = attributes.get(key)
    return kinds.get(value.lower()) if isinstance(value, str) else None
