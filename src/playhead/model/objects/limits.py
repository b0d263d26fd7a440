"""Limits for recording one value, and the weight of a value: they bound the time that recording takes.

The first limit is the weight. It depends on the value alone, so the same value is cut at the same position in every
process. The limit of time is only for the program's own code (`__repr__`, properties, mappings), whose time cannot be
known beforehand.
"""

import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from playhead.model.objects.plain_forms import attributes_of, class_of

Cut = Literal["size", "time", "room"]
"""Why a value, or a part of it, was left out. By size, it is the same part each time."""

CUT = "$cut"
"""The key under which a recorded value describes what was left out of it."""
CUT_SENTENCES: dict[Cut, str] = {
    "size": "it is larger than what is recorded of a value (PLAYHEAD_MAX_VALUE_SIZE, PLAYHEAD_MAX_ARRAY_BYTES, "
    "PLAYHEAD_MAX_CONTENT_BYTES)",
    "room": "the journal had no room for it (PLAYHEAD_JOURNAL_MAX_BYTES)",
    "time": "to read all of it, code of the program took longer than it may (PLAYHEAD_MAX_VALUE_SECONDS)",
}

# Weights; the unit is a number in a list. ITEM: an item of a dictionary; STEP: a value that is written as another one;
# CONTAINER: a container of plain JSON; OPENED: another container; OBJECT: an object.
SCALAR, ITEM, STEP, CONTAINER, OPENED, OBJECT = 1, 4, 25, 15, 50, 150


@dataclass(frozen=True, slots=True)
class ValueLimits:
    """Limits for one value; None: unlimited. `size`: its weight; `seconds`: time of the program's own code;
    `array_bytes`: bytes of the elements of each array in it (three times as many for all arrays together)."""

    size: int | None = 50_000
    seconds: float | None = 0.001
    array_bytes: int | None = 2**20
    clock: Callable[[], float] = time.perf_counter


NO_LIMITS = ValueLimits(size=None, seconds=None, array_bytes=None)

_SCALARS = frozenset({str, int, bool, float, type(None)})
_TEXT = frozenset({str})
_AS_SCALARS = (str, int, uuid.UUID)  # and their subclasses: orjson writes them as texts or numbers
_DICT: Any = dict
_CONTAINERS: tuple[Any, ...] = (dict, list, tuple, set, frozenset, deque)
_GONE_INTO = ("__pydantic_fields__", "__dataclass_fields__")  # classes whose attributes a model's dump includes
_SQUARE_OF_BITS = 40_000  # 4,000 digits take 0.2 ms
_FEW = 8  # for fewer items, testing each one is quicker


def is_light(value: Any) -> bool:
    """Whether a value weighs almost nothing: a text, a number, or a few of them in a plain dictionary, as in most
    calls. Takes a quarter of the time of `weigh`."""
    if class_of(value) is dict:
        return len(value) <= _FEW and _SCALARS.issuperset(map(type, tuple(value.values())))
    return class_of(value) in _SCALARS


def weigh(value: object, limit: int, *, as_tree: bool = False) -> tuple[int, bool]:
    """Returns the weight of a value of JSON types, and whether it is one; stops above the limit.

    JSON types are those that orjson writes as such, with any keys; with `as_tree`, those of a tree of `plain_tree.py`,
    without subclasses. A part that occurs several times weighs several times, because it is written several times.
    """
    if type(value) in _SCALARS:
        return SCALAR, True
    try:
        return _weighed(value, limit, as_tree)
    except RuntimeError:  # another thread changed it meanwhile
        return 0, False


def _weighed(value: object, limit: int, as_tree: bool) -> tuple[int, bool]:
    weight = 0
    waiting: list[Any] = [value]
    scalars = _SCALARS
    for item in waiting:  # the list grows in the loop
        kind = class_of(item)
        count = 0
        if kind is dict:
            count = len(item)
            weight += CONTAINER + ITEM * count
            if as_tree and not _TEXT.issuperset(map(type, item)):
                return weight, False
            inside: Any = item.values()
        elif kind is list or kind is tuple:
            count = len(item)
            weight += CONTAINER + count
            inside = item
        elif issubclass(kind, _AS_SCALARS) and not as_tree:
            weight += ITEM
            continue
        else:
            return weight, False
        if weight > limit:
            break
        if count > _FEW and scalars.issuperset(map(type, inside)):
            continue
        waiting.extend(child for child in inside if type(child) not in scalars)
    return weight, True


def digits_weight(bits: int) -> int:
    """Returns the weight of writing an integer of this many bits as digits, which grows with the square of the bits."""
    return bits * bits // _SQUARE_OF_BITS


def weigh_inside(value: object, limit: int, *, digits: bool = False) -> int:
    """Returns the weight of everything in an object that is read as a whole, such as a model; stops above the limit.
    `digits`: its integers are written as digits."""
    weight = 0
    waiting: list[Any] = [value]
    for item in waiting:  # the list grows in the loop
        kind = class_of(item)
        if kind in _SCALARS:
            weight += SCALAR
            continue
        base: Any = next((entry for entry in _CONTAINERS if issubclass(kind, entry)), None)
        held = item
        if base is None:
            weight += OBJECT
            base = _DICT
            held: Any = attributes_of(item) if any(hasattr(kind, mark) for mark in _GONE_INTO) else {}
        weight += CONTAINER + base.__len__(held)
        if weight > limit:
            break
        inside: list[Any] = [*(base.values(held) if base is _DICT else base.__iter__(held))]
        if digits:
            weight += sum(digits_weight(entry.bit_length()) for entry in inside if class_of(entry) is int)
        if not _SCALARS.issuperset(map(type, inside)):
            waiting += [entry for entry in inside if type(entry) not in _SCALARS]
    return weight
