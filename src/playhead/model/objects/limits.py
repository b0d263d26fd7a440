"""How much of one value is recorded, and what a value weighs: bounds on the time that observing it takes.

The first bound is the weight, which depends on the value alone: the same value is cut at the same place in every
process.  Time bounds only what the program's own code takes (`__repr__`, properties, mappings), of which nobody knows
beforehand how long it takes.
"""

import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from playhead.model.objects.plain_forms import attributes_of, class_of

Cut = Literal["size", "time", "room"]
"""Why a part of a value was left out, or all of it.  By size, it is the same part each time."""

CUT = "$cut"
"""The key under which a recorded value says what is left out of it."""
CUT_SENTENCES: dict[Cut, str] = {
    "size": "it is larger than what is recorded of a value (PLAYHEAD_MAX_VALUE_SIZE, PLAYHEAD_MAX_ARRAY_BYTES, "
    "PLAYHEAD_MAX_CONTENT_BYTES)",
    "room": "the journal had no room for it (PLAYHEAD_JOURNAL_MAX_BYTES)",
    "time": "to read all of it, code of the program took longer than it may (PLAYHEAD_MAX_VALUE_SECONDS)",
}

# In units of what a number in a list takes: an item of a dictionary; a value that is written as another; a container
# that is plain JSON, one that is not; an object.
SCALAR, ITEM, STEP, CONTAINER, OPENED, OBJECT = 1, 4, 25, 15, 50, 150


@dataclass(frozen=True, slots=True)
class ValueLimits:
    """Bounds for one value; None: none.  `size`: its weight; `seconds`: for the program's own code; `array_bytes`: for
    the elements of each array in it, and three times as many for those of all."""

    size: int | None = 50_000
    seconds: float | None = 0.001
    array_bytes: int | None = 2**20
    clock: Callable[[], float] = time.perf_counter


NO_LIMITS = ValueLimits(size=None, seconds=None, array_bytes=None)

_SCALARS = frozenset({str, int, bool, float, type(None)})
_TEXT = frozenset({str})
_AS_SCALARS = (str, int, uuid.UUID)  # their subclasses, too: what orjson writes as a text or a number
_DICT: Any = dict
_CONTAINERS: tuple[Any, ...] = (dict, list, tuple, set, frozenset, deque)
_GONE_INTO = ("__pydantic_fields__", "__dataclass_fields__")  # by a model's dump
_SQUARE_OF_BITS = 40_000  # 4,000 digits take 0.2 ms
_FEW = 8  # below, looking at each one is quicker


def is_light(value: Any) -> bool:
    """Whether a value weighs next to nothing: a text, a number, or a few of them in a plain dictionary, as most calls
    have them.  It takes a quarter of the time of `weigh`."""
    if class_of(value) is dict:
        return len(value) <= _FEW and _SCALARS.issuperset(map(type, tuple(value.values())))
    return class_of(value) in _SCALARS


def weigh(value: Any, limit: int, *, as_tree: bool = False) -> tuple[int, bool]:
    """The weight of a value of JSON types, and whether it is one; past the limit, it looks no further.

    JSON types are those that orjson writes as such, with any keys; `as_tree`: those of a tree of `plain_tree.py`, and
    nothing that inherits from them. What stands in a value several times weighs several times, as it is written so."""
    if type(value) in _SCALARS:
        return SCALAR, True
    try:
        return _weighed(value, limit, as_tree)
    except RuntimeError:  # another thread changed it meanwhile
        return 0, False


def _weighed(value: Any, limit: int, as_tree: bool) -> tuple[int, bool]:
    weight = 0
    waiting: list[Any] = [value]
    scalars = _SCALARS
    for item in waiting:  # it grows meanwhile
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
        waiting.extend(each for each in inside if type(each) not in scalars)
    return weight, True


def digits_weight(bits: int) -> int:
    """What it takes to write an integer of so many bits as digits, which grows with their square."""
    return bits * bits // _SQUARE_OF_BITS


def weigh_inside(value: Any, limit: int, *, digits: bool = False) -> int:
    """The weight of all that a model, or another object which is read as a whole, holds; past the limit, it looks no
    further.  `digits`: its integers are written out."""
    weight = 0
    waiting: list[Any] = [value]
    for item in waiting:  # it grows meanwhile
        kind = class_of(item)
        if kind in _SCALARS:
            weight += SCALAR
            continue
        base: Any = next((each for each in _CONTAINERS if issubclass(kind, each)), None)
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
            weight += sum(digits_weight(each.bit_length()) for each in inside if class_of(each) is int)
        if not _SCALARS.issuperset(map(type, inside)):
            waiting += [each for each in inside if type(each) not in _SCALARS]
    return weight
