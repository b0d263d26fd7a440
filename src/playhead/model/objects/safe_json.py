"""The careful path to canonical JSON: slower than orjson, and safe for anything that a program can hold.

`plain_tree.py` defines how objects are described, `tree_json.py` how values are written.
"""

import math
from typing import Any

from playhead.model.objects.limits import NO_LIMITS, Cut, ValueLimits, weigh
from playhead.model.objects.masking import Mask
from playhead.model.objects.plain_tree import KeepBytes, TreeReader
from playhead.model.objects.reading import reading
from playhead.model.objects.tree_json import TooManyOdd, quick_json, tree_json

_ODD = 64  # weight of a scalar that orjson does not write, relative to others
_MOST_ODD_OF_SAMPLE = 300


def safe_json(value: object, mask: Mask | None = None) -> bytes:
    """Returns the canonical JSON bytes of any value. Never raises (except MemoryError and the like).

    `mask` hides secrets in what is made from objects, but not in plain dictionaries and lists.
    """
    with reading():
        return tree_json(TreeReader(mask, NO_LIMITS).tree(value))


def bounded_json(
    value: Any, mask: Mask | None, limits: ValueLimits, keep: KeepBytes | None = None
) -> tuple[bytes, Cut | None]:
    """Returns the same as `canonical_json`, within limits; and why a part of the value was left out (None: nothing
    was).

    `keep` stores the elements of large arrays as content; without it, they are in the JSON.
    """
    size = limits.size
    weight, is_plain = (0, True) if size is None else weigh(value, size)
    is_too_large = size is not None and weight > size
    if is_plain and not is_too_large and (data := quick_json(value)) is not None:
        return data, None
    with reading():
        reader = TreeReader(mask, limits, keep)
        if is_too_large:
            return _sample_json(reader, value), reader.cut
        try:
            return tree_json(reader.tree(value), math.inf if size is None else size / _ODD), reader.cut
        except TooManyOdd:
            return _sample_json(reader, value), reader.cut


def _sample_json(reader: TreeReader, value: object) -> bytes:
    return tree_json(reader.sample(value), _MOST_ODD_OF_SAMPLE, cuts=True)
