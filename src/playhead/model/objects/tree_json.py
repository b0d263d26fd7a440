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

from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.limits import digits_weight
from playhead.model.objects.plain_forms import class_of, type_name

MAX_LEVELS = 254  # orjson's own limit
MAX_INTEGER_BITS = 14_000  # 4,214 digits; Python refuses to write more than 4,300
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_NEW_EXPONENT = re.compile(rb"\de\+\d")
_PLUS = ord("+")  # one character is found ten times as fast as two, and hardly any text has this one
_CONTAINERS = (dict, list, tuple)
_SCALARS = frozenset({str, int, bool, float, type(None)})
_NUMBERS = frozenset({int, bool, float, type(None)})
_ORJSON_BITS = 64
_FINITE = frozenset({str, int, bool, type(None)})


class Marker(dict[str, Any]):
    """A description in place of a value. It is part of a tree and is not read again."""


def quick_json(value: Any) -> bytes | None:
    """Returns the canonical bytes of a value that orjson writes exactly; None: it does not, or the value has other
    objects in it."""
    try:
        data = orjson.dumps(value, option=_OPTIONS)
        # orjson writes NaN and Infinity as null, which would make two values one; and its newer versions write 1e+16
        # for 1e16, which would give one value two refs.  `rfind` takes a quarter of the time of `in`, however long the
        # text is, and answers have their nulls near the end.
        if data.rfind(b"null") < 0 or not has_non_finite(value):
            if not (_PLUS in data and b"e+" in data and _NEW_EXPONENT.search(data)):
                return data
            return _with_old_exponents(data)
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        reraise_if_for_program(error)
    return None


def _with_old_exponents(data: bytes) -> bytes | None:
    """Returns JSON with the exponents of its numbers as older versions of orjson write them. None: texts in it have
    escapes, so that their ends cannot be found by their quotes."""
    if b"\\" in data:
        return None
    parts = data.split(b'"')
    parts[::2] = [part.replace(b"+", b"") for part in parts[::2]]  # the parts outside of texts
    return b'"'.join(parts)


def has_non_finite(value: object) -> bool:
    """Whether a plain JSON value holds NaN or an infinity somewhere. There are no cycles: orjson refused them."""
    kind: Any = None
    inside: list[Any] = [value]
    for node in inside:  # grows in the loop: runs for each answer with a null, and recursion is slower
        kind = type(node)  # pyright: ignore[reportUnknownVariableType]
        items: Any = node.values() if kind is dict else node if kind is list else (node,)
        if _FINITE.issuperset(map(type, items)):
            continue
        for item in items:
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]
            if kind is dict or kind is list:
                inside.append(item)
            elif kind not in _FINITE and _is_non_finite(item):
                return True
    return False


def _is_non_finite(value: object) -> bool:
    """Does the same as `has_non_finite` for a value that is not a plain container."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(has_non_finite, cast(Any, dict).values(value)))
    if isinstance(value, list | tuple):
        return any(map(has_non_finite, cast(Sequence[Any], value)))
    return isinstance(value, enum.Enum) and has_non_finite(value.value)


class TooManyOdd(Exception):
    """Raised if more scalars than allowed have to be written one by one."""


# A scalar that orjson does not write costs 1, which is 5 us. Other costs:
_IN_NUMBERS = 0.2  # a number among numbers, which are written together
_TEXT = 4  # a text with a lone surrogate
_DIGITS_IN_ONE = 50  # this many units of `digits_weight` cost 1
_HEX_BITS_IN_ONE = 4096


def tree_json(tree: object, most_odd: float = math.inf, *, cuts: bool = False) -> bytes:
    """Returns the canonical bytes of a tree of plain JSON values, as `plain_tree.py` makes it.

    Raises TooManyOdd if the scalars that orjson does not write, such as NaN, cost more than `most_odd` (a long one
    costs more than 1). `cuts`: writes markers in place of these instead of raising.
    """
    return quick_json(tree) or "".join(_TreeWriting(most_odd, cuts).pieces(tree)).encode()


class _TreeWriting:
    """Writes one tree that orjson does not write as a whole."""

    def __init__(self, most_odd: float, cuts: bool):
        self._odd_left = most_odd
        self._cuts = cuts

    def pieces(self, tree: object) -> Iterator[str]:
        """Yields the text in pieces. Open containers are on a list, not on Python's call stack."""
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
                waiting.append((self._members(cast("dict[str, Any]", value)), "}"))
            elif _SCALARS.issuperset(map(type, cast("Sequence[Any]", value))):
                yield f"[{self._scalars(cast('Sequence[Any]', value))}]"
            else:
                yield "["
                waiting.append((_items(cast("Sequence[Any]", value)), "]"))

    def _scalars(self, values: Sequence[Any]) -> str:
        """Returns scalars with commas between them. Writes as many at a time as orjson can."""
        if len(values) > 1 and (kinds := set(map(type, values))) <= _NUMBERS:
            return self._numbers(values, kinds)
        data = quick_json(values)
        if data is not None:
            return data[1:-1].decode()
        if len(values) == 1:
            return self._scalar(values[0])
        middle = len(values) // 2
        return f"{self._scalars(values[:middle])},{self._scalars(values[middle:])}"

    def _scalar(self, value: object) -> str:
        data = quick_json(value)
        if data is not None:
            return data.decode()
        return _scalar(value) if self._take(_odd_weight(value)) else _cut_marker(value)

    def _numbers(self, values: Sequence[Any], kinds: set[Any]) -> str:
        """Does the same as `_scalars` for numbers of these types only. orjson writes a zero for each number that it
        cannot write; the zeros are then replaced."""
        odd = _places_of_odd(values, kinds)
        if len(odd) * _IN_NUMBERS > self._odd_left and not self._cuts:
            raise TooManyOdd
        written = [self._take(_odd_weight(values[place]) - 1 + _IN_NUMBERS) for place in odd]
        plain = [*values]
        for place in odd:
            plain[place] = 0
        texts = orjson.dumps(plain)[1:-1].replace(b"+", b"").decode().split(",")
        for place, is_written in zip(odd, written, strict=True):
            texts[place] = _scalar(values[place]) if is_written else _cut_marker(values[place])
        return ",".join(texts)

    def _take(self, weight: float) -> bool:
        """Subtracts the cost of a scalar. Returns False if a marker has to be written instead. Raises TooManyOdd if the
        cost is too high and `cuts` is not set."""
        if weight > self._odd_left and not self._cuts:
            raise TooManyOdd
        is_written = weight <= self._odd_left
        self._odd_left -= weight if is_written else 0
        return is_written

    def _members(self, value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        separator = ""
        for key in sorted(value):
            text = _quick_text(key)
            if text is None:
                self._odd_left -= _TEXT
                if self._odd_left < 0 and not self._cuts:
                    raise TooManyOdd
                text = _text(key)
            yield f"{separator}{text}:", value[key]
            separator = ","


def _places_of_odd(numbers: Sequence[Any], kinds: set[Any]) -> list[int]:
    """Returns the positions of the numbers that orjson does not write."""
    if kinds == {float}:
        return [place for place, is_finite in enumerate(map(math.isfinite, numbers)) if not is_finite]
    if kinds == {int}:
        return [place for place, bits in enumerate(map(int.bit_length, numbers)) if bits >= _ORJSON_BITS]
    return [place for place, number in enumerate(numbers) if _is_odd_number(number)]


def _is_odd_number(value: Any) -> bool:
    if type(value) is float:
        return not math.isfinite(value)
    return value is not None and value.bit_length() >= _ORJSON_BITS


def _odd_weight(value: object) -> float:
    if isinstance(value, str):
        return _TEXT
    if not isinstance(value, int):
        return 1
    bits = value.bit_length()
    return 1 + (bits // _HEX_BITS_IN_ONE if bits > MAX_INTEGER_BITS else digits_weight(bits) // _DIGITS_IN_ONE)


def _cut_marker(value: object) -> str:
    return f'{{"$cut":{{"type":{_text(type_name(value))},"why":"size"}}}}'


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return _marker("$int", hex(value)) if value.bit_length() > MAX_INTEGER_BITS else int.__repr__(value)
    # Some versions of orjson write 1e16, others 1e+16.
    return orjson.dumps(value).decode().replace("+", "") if math.isfinite(value) else _marker("$float", repr(value))


def _quick_text(value: str) -> str | None:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        return None


def _text(value: str) -> str:
    return _quick_text(value) or json.dumps(value)  # escapes lone surrogates, which have no UTF-8 form


def _items(value: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    separator = ""
    for item in value:
        yield separator, item
        separator = ","


def _marker(name: str, text: str) -> str:
    return f'{{"{name}":{_text(text)}}}'
