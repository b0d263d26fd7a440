"""The careful path to canonical JSON: slower than orjson, and safe on anything a program can hold.

What JSON has no word for is described by an object whose key starts with `$`:

| value | described as |
|---|---|
| NaN, Infinity | `{"$float": "nan"}` |
| an integer of more digits than Python will write | `{"$int": "0x..."}` |
| bytes | `{"$bytes": "<base64>"}` |
| set, frozenset | `{"$set": [...]}` in canonical order |
| a mapping whose keys collide as text | `{"$items": [[key, value], ...]}` |
| a request, connection, lock, file, ... (see `infrastructure.py`) | `{"$type": "module.Type"}` |
| a secret, where a mask is given (see `masking.py`) | `{"$masked": "str"}` |
| a cycle, or more than 254 levels | `{"$cycle": "module.Type"}`, `{"$deep": "module.Type"}` |
| an object or container that stands in it again, after 100,000 that did | `{"$repeated": "module.Type"}` |
| anything else | `{"$repr": "...", "$type": "module.Type"}`, the text bounded |

Containers stand on a list, not on Python's call stack: how deep the caller is must not change a value's bytes.
"""

import base64
import dataclasses
import enum
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any, cast

import orjson

from playhead.model.objects.infrastructure import is_connection, is_machinery
from playhead.model.objects.interrupts import let_through
from playhead.model.objects.masking import KeyedValue, Mask, masked
from playhead.model.objects.plain_forms import described, field_names, items_of, plain_object, type_name
from playhead.model.objects.reading import reading

MAX_LEVELS = 254  # orjson's own limit: what it can write, this path can
_MAX_STEPS = 16  # from a rich value to a plain one
# What stands in a value several times is written several times: of 45 objects that all refer to each other, millions.
# So many take about a second; a table whose rows share some thousand objects has fewer.
MOST_REPEATED = 100_000
MAX_INTEGER_BITS = 14_000  # 4,214 digits; Python refuses to write more than 4,300


@dataclasses.dataclass(frozen=True, slots=True)
class _Encoded:
    """A member of a set, encoded already because the encoding is what sets are sorted by."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Container:
    """An object or array being written.  `owners` are what it was made from: kept alive, so that ids stay theirs.

    `mask` is what hides secrets in it: None outside of what was made of an object."""

    start: str
    children: Iterator[tuple[str, Any]]
    end: str
    owners: tuple[object, ...] = ()
    mask: Mask | None = None


def safe_json(value: Any, mask: Mask | None = None) -> bytes:
    """Canonical JSON bytes of anything; never raises (except MemoryError and the like).

    `mask` hides secrets in what is made of objects, and leaves plain dictionaries and lists alone.
    """
    with reading():
        return _SafeEncoding(mask).text(value, (), None).encode("utf-8", "surrogatepass")


_FINITE = frozenset({str, int, bool, type(None)})


def has_non_finite(value: Any) -> bool:
    """Whether a plain JSON value holds NaN or an infinity somewhere.  Cycles cannot get here: orjson refused them."""
    kind: Any = None
    inside: list[Any] = [value]
    for each in inside:  # it grows meanwhile: this runs for each answer with a null in it, and a call takes longer
        kind = type(each)  # pyright: ignore[reportUnknownVariableType]
        for item in each.values() if kind is dict else each if kind is list else (each,):
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]
            if kind in _FINITE:
                continue
            if kind is dict or kind is list:
                inside.append(item)
            elif _is_non_finite(item):
                return True
    return False


def _is_non_finite(value: Any) -> bool:
    """As `has_non_finite`, of a value that is no plain container."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(has_non_finite(item) for _, item in _items(value))
    if isinstance(value, list | tuple):
        return any(map(has_non_finite, cast(Sequence[Any], value)))
    return isinstance(value, enum.Enum) and has_non_finite(value.value)


class _SafeEncoding:
    """One value being written, with the mask for what is made of objects in it."""

    __slots__ = ("_mask", "_repeated", "_seen")

    def __init__(self, mask: Mask | None):
        self._mask = mask
        self._seen: dict[int, object] = {}  # the objects, too: as long as they are held, their ids stay theirs
        self._repeated = 0

    def _is_repeated(self, value: object) -> bool:
        """Whether it has been written before, and so have too many others."""
        if id(value) not in self._seen:
            self._seen[id(value)] = value
            return False
        self._repeated += 1
        return self._repeated > MOST_REPEATED

    def text(self, value: Any, above: tuple[int, ...], mask: Mask | None) -> str:
        """The value's JSON text; `mask` where it stands inside of an object."""
        out: list[str] = []
        containers = [_Container("", iter((("", value),)), "", (), mask)]
        ids = list(above)
        while containers:
            container = containers[-1]
            child = next(container.children, None)
            if child is None:
                out.append(container.end)
                del ids[len(ids) - len(container.owners) :]
                containers.pop()
                continue
            out.append(child[0])
            depth = len(above) + len(containers) - 1
            written = self._written(child[1], ids, depth, container.mask)
            if isinstance(written, str):
                out.append(written)
            else:
                out.append(written.start)
                ids += map(id, written.owners)
                containers.append(written)
        return "".join(out)

    def _written(self, value: Any, above: list[int], depth: int, mask: Mask | None) -> str | _Container:
        """The text of a scalar or a description; a container to go into for all else."""
        owners: list[object] = []
        original = value
        try:
            while True:
                if type(value) is _Encoded:
                    return value.text
                scalar = _scalar(value)
                if scalar is not None:
                    return scalar
                if id(value) in above or any(value is owner for owner in owners):
                    return _marker("$cycle", type_name(value))
                if depth >= MAX_LEVELS or len(owners) >= _MAX_STEPS:
                    return _marker("$deep", type_name(value))
                owners.append(value)
                plain = self._plain(value, above, owners, mask)
                if not issubclass(type(value), _OWN) or field_names(value) is not None:
                    mask = self._mask
                if isinstance(plain, dict | list):
                    return self._container(cast(Any, plain), above, owners, mask)
                value = plain  # one step nearer: an enum's value, a model's root
        except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
            let_through(error)
            return _json_of(described(original, self._mask))

    def _plain(self, value: Any, above: list[int], owners: list[object], mask: Mask | None) -> Any:
        """One step from a rich value towards dict, list and scalars."""
        kind = cast(Any, type(value))
        if kind is dict:
            found = cast(dict[Any, Any], value)
            return {"$type": "connection"} if is_connection(found) else found
        if kind is KeyedValue:
            return masked(value.value) if self._mask and self._mask.hides(value.key, value.value) else value.value
        if kind not in _OWN and is_machinery(kind):
            return {"$type": type_name(value)}
        if isinstance(value, dict):
            return cast(dict[Any, Any], value)
        if isinstance(value, list | tuple):
            return items_of(value, self._mask)
        if isinstance(value, Mapping):
            mapping = cast(Mapping[Any, Any], value)
            return {key: mapping[key] for key in islice(mapping, len(mapping))}  # its iterator may never end
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, bytes | bytearray | memoryview):
            return {"$bytes": base64.b64encode(bytes(cast(bytes, value))).decode()}
        if isinstance(value, Set):
            inside = (*above, *map(id, owners))
            members = cast(Set[Any], value)
            texts = (self.text(item, inside, mask) for item in islice(members, len(members)))
            return {"$set": [_Encoded(text) for text in sorted(texts)]}
        plain = plain_object(value)
        return described(value, self._mask) if plain is None else plain

    def _container(
        self, plain: dict[Any, Any] | list[Any], above: list[int], owners: list[object], mask: Mask | None
    ) -> str | _Container:
        if plain and self._is_repeated(owners[0]):
            return _marker("$repeated", type_name(owners[0]))
        return self._object(plain, above, owners, mask) if isinstance(plain, dict) else self._array(plain, owners, mask)

    def _object(self, value: dict[Any, Any], above: list[int], owners: list[object], mask: Mask | None) -> _Container:
        items = _items(value)
        if mask:
            items = [(key, masked(item) if mask.hides(key, item) else item) for key, item in items]
        inside = (*above, *map(id, owners))
        named = {self._key(key, inside, mask): item for key, item in items}
        if len(named) != len(items):  # 1 and "1": as text they are one key, so keep the pairs
            pairs = _separated(("", [key, item]) for key, item in items)
            return _Container('{"$items":[', pairs, "]}", tuple(owners), mask)
        children = _separated((_text(key) + ":", named[key]) for key in sorted(named))
        return _Container("{", children, "}", tuple(owners), mask)

    def _array(self, value: list[Any], owners: list[object], mask: Mask | None) -> _Container:
        if mask and mask.hides_second(value):
            value = [value[0], masked(value[1])]
        return _Container("[", _separated(("", item) for item in value), "]", tuple(owners), mask)

    def _key(self, key: Any, above: tuple[int, ...], mask: Mask | None) -> str:
        if isinstance(key, enum.Enum) and isinstance(key.value, str):
            key = key.value
        return str.__str__(key) if isinstance(key, str) else self.text(key, above, mask)


_OWN = (dict, list, tuple, set, frozenset, bytes, bytearray, memoryview, enum.Enum)
"""Types of the values that a program writes down itself, and in which nothing is masked."""


def _scalar(value: Any) -> str | None:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, enum.Enum):
        return None
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        if int.bit_length(value) > MAX_INTEGER_BITS:
            return _marker("$int", hex(value))
        return int.__repr__(value)
    if isinstance(value, float):
        exact = float.__float__(value)
        # Versions of orjson write 1e16 or 1e+16.
        return orjson.dumps(exact).decode().replace("+", "") if math.isfinite(exact) else _marker("$float", repr(exact))
    return None


def _text(value: str) -> str:
    # A subclass may answer `str()` with anything; what it holds is what orjson would write.
    exact = str.__str__(value)
    try:
        return orjson.dumps(exact).decode()
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(exact)  # escapes lone surrogates, which have no UTF-8 form


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(cast(Any, dict).items(value))  # a subclass's `items` may be hostile


def _separated(children: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    separator = ""
    for prefix, child in children:
        yield separator + prefix, child
        separator = ","


def _marker(name: str, text: str) -> str:
    return f'{{"{name}":{_text(text)}}}'


def _json_of(described: dict[str, str]) -> str:
    return "{" + ",".join(f'"{key}":{_text(text)}' for key, text in sorted(described.items())) + "}"
