"""Finds the values that the plain canonical content restores exactly, and the little that must be kept beside it for
others.

Canonical JSON sorts keys, and a program sees their order: a tool's dictionary that becomes the text of a message would
become another text. So a value of plain JSON types is exact by itself only if its keys are sorted already. Otherwise
the few key orders that occur in it are enough to restore it. See `faithful.py`.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from playhead.model.objects.tree_json import MAX_INTEGER_BITS, MAX_LEVELS

# A Python text can hold the two halves of a surrogate pair as two characters.  JSON escapes both, and its readers make
# one character of them.
_BETWEEN_HALVES = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")
_SCALARS = frozenset({str, int, float, bool, type(None)})
_CONTAINERS = frozenset({dict, list})
_FEW = 16  # up to so many values, checking each is quicker than grouping them by type
MARK = "$"
"""The key of a tagged value."""
NOT_KEPT = "$playhead"
"""The key of a marker that replaces content that was too large, or could not be written."""


@dataclass(slots=True)
class KeyOrderSurvey:
    """Key orders found in a plain JSON value. `orders` maps sorted keys to the keys in their original order."""

    orders: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict[tuple[str, ...], tuple[str, ...]])
    seen_key_orders: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    in_order: bool = True
    one_order: bool = True  # the same keys always stand in the same order
    marked: bool = False

    @property
    def exact(self) -> bool:
        """Whether the canonical content alone restores the value."""
        return self.in_order and not self.marked

    def note_keys(self, value: dict[Any, Any]) -> bool:
        """Notes a dictionary's keys; returns False if they are not plain texts."""
        keys = tuple(value)
        if not all_str(keys):
            return False
        if keys not in self.seen_key_orders:
            if not is_text("".join(keys)):
                return False
            self.seen_key_orders.add(keys)
            in_order = tuple(sorted(keys))
            self.in_order = self.in_order and keys == in_order
            self.one_order = self.one_order and self.orders.setdefault(in_order, keys) == keys
            self.marked = self.marked or is_marked(value)
        return True


def key_orders_of(value: Any) -> KeyOrderSurvey | None:
    """Collects the key orders in a value; returns None if it is not plain JSON."""
    try:
        return _key_orders_of(value)
    except RuntimeError:  # another thread changed it meanwhile
        return None


def _key_orders_of(value: object) -> KeyOrderSurvey | None:
    # Level by level, so that a cycle is found by its depth.
    survey = KeyOrderSurvey()
    level: list[Any] = [value]
    if type(value) not in _CONTAINERS:
        return survey if are_plain_scalars([value]) else None
    for _ in range(MAX_LEVELS + 1):
        deeper: list[Any] = []
        for container in level:
            items: list[Any] = container
            if type(container) is dict:
                fields = cast(dict[Any, Any], container)
                if not survey.note_keys(fields):
                    return None
                items = list(fields.values())
            if are_plain_scalars(items):
                continue
            deeper += [item for item in items if type(item) in _CONTAINERS]
            if not are_plain_scalars([item for item in items if type(item) not in _CONTAINERS]):
                return None
        if not deeper:
            return survey
        level = deeper
    return None


def are_plain_scalars(values: Sequence[Any], most_bits: int = MAX_INTEGER_BITS) -> bool:
    """Whether all are texts, numbers, booleans or None that canonical JSON restores exactly, and no integer has more
    than `most_bits` bits."""
    if len(values) <= _FEW:
        return all(_is_plain_scalar(value, most_bits) for value in values)
    kinds: set[Any] = set(map(type, values))
    if not kinds <= _SCALARS:
        return False
    if len(kinds) > 1:
        return all(are_plain_scalars([item for item in values if type(item) is kind], most_bits) for kind in kinds)
    if str in kinds:
        return is_text("".join(values))
    if int in kinds:
        return max(map(int.bit_length, values)) <= most_bits
    return float not in kinds or all(map(math.isfinite, values))


def _is_plain_scalar(value: Any, most_bits: int) -> bool:
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        return value.isascii() or is_text(value)
    if kind is int:
        return value.bit_length() <= most_bits
    return math.isfinite(value) if kind is float else kind is bool or value is None


def key_orders(survey: KeyOrderSurvey) -> list[list[str]]:
    """The key orders to keep beside the canonical content."""
    return [list(keys) for in_order, keys in survey.orders.items() if keys != in_order]


def in_key_order(value: object, orders: Sequence[Sequence[str]]) -> Any:
    """Returns the value with its keys in the orders that `key_orders` returned."""
    by_keys = {frozenset(keys): keys for keys in orders}

    def ordered(item: object) -> Any:
        if type(item) is dict:
            pairs = cast(dict[str, Any], item)
            return {key: ordered(pairs[key]) for key in by_keys.get(frozenset(pairs), pairs)}
        return [ordered(element) for element in cast(list[Any], item)] if type(item) is list else item

    return ordered(value)


def json_text(value: object) -> str:
    """The JSON text of a plain value, its keys in their own order."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):  # integers beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_marked(value: dict[Any, Any]) -> bool:
    """Whether a dictionary has a key of our tags or markers, and so cannot stand for itself."""
    return MARK in value or NOT_KEPT in value


def is_text(value: str) -> bool:
    """Whether the text has a UTF-8 form: no lone surrogates."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def parts_for_json(text: str) -> list[str]:
    """Splits a text where JSON would join two surrogates. Returns one part if JSON restores the text as it is."""
    return [text] if is_text(text) else _BETWEEN_HALVES.split(text)


def all_str(keys: Sequence[Any]) -> bool:
    """Whether all keys are of the type `str` itself: a subclass may claim to equal anything."""
    return not keys or set(map(type, keys)) == {str}
