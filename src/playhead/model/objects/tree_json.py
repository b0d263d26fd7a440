"""Plain JSON values → canonical bytes: UTF-8, keys sorted by code point, no white space, floats as the shortest text
that reads back to the same float, integers exact.

The quick way is one orjson call.  What orjson refuses or would change silently is written here, with the same bytes for
every value that both can write: NaN and infinities (`{"$float": "nan"}`), lone surrogates, and integers of more than 64
bits (`{"$int": "0x..."}` for those that Python refuses to write).  What is deeper than 254 levels is
`{"$deep": "builtins.list"}`.
"""

import enum
import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import orjson

from playhead.model.objects.interrupts import let_through
from playhead.model.objects.plain_forms import class_of, type_name

MAX_LEVELS = 254  # orjson's own limit
MAX_INTEGER_BITS = 14_000  # 4,214 digits; Python refuses to write more than 4,300
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_NEW_EXPONENT = re.compile(rb"\de\+\d")
_PLUS = ord("+")  # one character is found ten times as fast as two, and hardly any text has this one
_CONTAINERS = (dict, list, tuple)
_SCALARS = frozenset({str, int, bool, float, type(None)})
_FINITE = frozenset({str, int, bool, type(None)})


class Marker(dict[str, Any]):
    """A description in place of a value: as it stands, it is part of a tree."""


def quick_json(value: Any) -> bytes | None:
    """The canonical bytes of a value that orjson writes exactly; None: it does not, or it has other objects in it."""
    try:
        data = orjson.dumps(value, option=_OPTIONS)
        # orjson writes NaN and Infinity as null, which would make two values one; and its newer versions write 1e+16
        # for 1e16, which would give one value two refs.  `rfind` takes a quarter of the time of `in`, however long the
        # text is, and answers have their nulls near the end.
        if (data.rfind(b"null") < 0 or not has_non_finite(value)) and not (
            _PLUS in data and b"e+" in data and _NEW_EXPONENT.search(data)
        ):
            return data
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        let_through(error)
    return None


def has_non_finite(value: Any) -> bool:
    """Whether a plain JSON value holds NaN or an infinity somewhere.  Cycles cannot get here: orjson refused them."""
    kind: Any = None
    inside: list[Any] = [value]
    for each in inside:  # it grows meanwhile: this runs for each answer with a null in it, and a call takes longer
        kind = type(each)  # pyright: ignore[reportUnknownVariableType]
        items: Any = each.values() if kind is dict else each if kind is list else (each,)
        if _FINITE.issuperset(map(type, items)):
            continue
        for item in items:
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]
            if kind is dict or kind is list:
                inside.append(item)
            elif kind not in _FINITE and _is_non_finite(item):
                return True
    return False


def _is_non_finite(value: Any) -> bool:
    """As `has_non_finite`, of a value that is no plain container."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(has_non_finite, cast(Any, dict).values(value)))
    if isinstance(value, list | tuple):
        return any(map(has_non_finite, cast(Sequence[Any], value)))
    return isinstance(value, enum.Enum) and has_non_finite(value.value)


class TooManyOdd(Exception):
    """More scalars than were allowed have to be written one by one."""


def tree_json(tree: Any, most_odd: float = math.inf) -> bytes:
    """The canonical bytes of a tree of plain JSON values, as `plain_tree.py` makes it.

    Raises TooManyOdd for more scalars than `most_odd` that orjson does not write, such as NaN."""
    return quick_json(tree) or "".join(_TreeWriting(most_odd).pieces(tree)).encode()


class _TreeWriting:
    """Writes one tree that orjson does not write as a whole."""

    def __init__(self, most_odd: float):
        self._odd_left = most_odd

    def pieces(self, tree: Any) -> Iterator[str]:
        """The text in pieces.  Containers stand on a list, not on Python's call stack."""
        waiting: list[tuple[Iterator[tuple[str, Any]], str]] = [(iter((("", tree),)), "")]
        while waiting:
            children, end = waiting[-1]
            child = next(children, None)
            if child is None:
                yield end
                waiting.pop()
                continue
            yield child[0]
            value: Any = child[1]
            if not isinstance(value, _CONTAINERS):
                yield self._scalar(value)
            elif len(waiting) > MAX_LEVELS and class_of(value) is not Marker:
                yield _marker("$deep", type_name(cast(object, value)))
            elif isinstance(value, dict):
                yield "{"
                waiting.append((_members(cast("dict[str, Any]", value)), "}"))
            elif _SCALARS.issuperset(map(type, cast("Sequence[Any]", value))):
                yield f"[{self._scalars(cast('Sequence[Any]', value))}]"
            else:
                yield "["
                waiting.append((_items(cast("Sequence[Any]", value)), "]"))

    def _scalars(self, values: Sequence[Any]) -> str:
        """Scalars with commas between them: as many at a time as orjson writes."""
        data = quick_json(values)
        if data is not None:
            return data[1:-1].decode()
        if len(values) == 1:
            return self._scalar(values[0])
        middle = len(values) // 2
        return f"{self._scalars(values[:middle])},{self._scalars(values[middle:])}"

    def _scalar(self, value: Any) -> str:
        data = quick_json(value)
        if data is not None:
            return data.decode()
        self._odd_left -= 1
        if self._odd_left < 0:
            raise TooManyOdd
        return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return _marker("$int", hex(value)) if value.bit_length() > MAX_INTEGER_BITS else int.__repr__(value)
    # Versions of orjson write 1e16 or 1e+16.
    return orjson.dumps(value).decode().replace("+", "") if math.isfinite(value) else _marker("$float", repr(value))


def _text(value: str) -> str:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value)  # escapes lone surrogates, which have no UTF-8 form


def _members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    separator = ""
    for key in sorted(value):
        yield f"{separator}{_text(key)}:", value[key]
        separator = ","


def _items(value: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    separator = ""
    for item in value:
        yield separator, item
        separator = ","


def _marker(name: str, text: str) -> str:
    return f'{{"{name}":{_text(text)}}}'
