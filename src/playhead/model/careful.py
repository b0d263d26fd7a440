"""The careful path to canonical JSON: slower than orjson, and safe on anything a program can hold.

What JSON has no word for is described by an object whose key starts with `$`:

| value | described as |
|---|---|
| NaN, Infinity | `{"$float": "nan"}` |
| an integer of more digits than Python will write | `{"$int": "0x..."}` |
| bytes | `{"$bytes": "<base64>"}` |
| set, frozenset | `{"$set": [...]}` in canonical order |
| a mapping whose keys collide as text | `{"$items": [[key, value], ...]}` |
| a cycle, or more than 254 levels | `{"$cycle": "module.Type"}`, `{"$deep": "module.Type"}` |
| anything else | `{"$repr": "...", "$type": "module.Type"}`, the text bounded |

Containers stand on a list, not on Python's call stack: how deep the caller is must not change a value's bytes.
"""

import base64
import dataclasses
import datetime
import enum
import json
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, cast

import orjson

_MAX_DEPTH = 254  # orjson's own limit: what it can write, this path can
_MAX_STEPS = 16  # from a rich value to a plain one
_MAX_REPR = 2_000
_MAX_INT_BITS = 14_000  # 4,214 digits; Python refuses to write more than 4,300


@dataclasses.dataclass(frozen=True, slots=True)
class _Encoded:
    """A member of a set, encoded already because the encoding is what sets are sorted by."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Container:
    """An object or array being written.  `owners` are what it was made from: kept alive, so that ids stay theirs."""

    start: str
    children: Iterator[tuple[str, Any]]
    end: str
    owners: tuple[object, ...] = ()


def careful_json(value: Any) -> bytes:
    """Canonical JSON bytes of anything; never raises (except MemoryError and the like)."""
    return _encode(value, ()).encode("utf-8", "surrogatepass")


def has_non_finite(value: Any) -> bool:
    """Whether a plain JSON value holds NaN or an infinity somewhere.  Cycles cannot get here: orjson refused them."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(has_non_finite(item) for _, item in _items(value))
    if isinstance(value, list | tuple):
        return any(map(has_non_finite, cast(Sequence[Any], value)))
    return isinstance(value, enum.Enum) and has_non_finite(value.value)


def type_name(value: object) -> str:
    """`module.Name` of a value's type."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def safe_repr(value: object) -> str:
    """A bounded `repr`; a broken one is called once and described."""
    try:
        text = str.__str__(repr(value))
    except Exception as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        return f"<repr raised {type(error).__name__}>"
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + f"... ({len(text)} characters)"


def _encode(value: Any, above: tuple[int, ...]) -> str:
    out: list[str] = []
    containers = [_Container("", iter((("", value),)), "")]
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
        written = _written(child[1], ids, depth)
        if isinstance(written, str):
            out.append(written)
        else:
            out.append(written.start)
            ids += map(id, written.owners)
            containers.append(written)
    return "".join(out)


def _written(value: Any, above: list[int], depth: int) -> str | _Container:
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
            if depth >= _MAX_DEPTH or len(owners) >= _MAX_STEPS:
                return _marker("$deep", type_name(value))
            owners.append(value)
            plain = _plain(value, above, owners)
            if isinstance(plain, dict):
                return _object(cast(dict[Any, Any], plain), above, owners)
            if isinstance(plain, list):
                return _array(cast(list[Any], plain), owners)
            value = plain  # one step nearer: an enum's value, a model's root
    except Exception:  # noqa: BLE001 - a hostile mapping, iterator or property: describe it and go on
        return _description(original)


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
        if int.bit_length(value) > _MAX_INT_BITS:
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


def _plain(value: Any, above: list[int], owners: list[object]) -> Any:
    """One step from a rich value towards dict, list and scalars."""
    if isinstance(value, dict):
        return cast(dict[Any, Any], value)
    if isinstance(value, list | tuple):
        own_iterator = cast(Any, list if isinstance(value, list) else tuple).__iter__
        return list(own_iterator(value))  # a subclass's iterator may never end
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(bytes(cast(bytes, value))).decode()}
    if isinstance(value, Set):
        inside = (*above, *map(id, owners))
        return {"$set": [_Encoded(text) for text in sorted(_encode(item, inside) for item in cast(Set[Any], value))]}
    return _plain_object(value)


def _plain_object(value: Any) -> Any:
    kind = cast(Any, type(value))
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID | os.PathLike):
        return str(cast(object, value))
    dump = getattr(kind, "model_dump", None)  # pydantic v2
    if callable(dump):
        # Its warnings are about the user's data, and the user did not ask for a dump.
        quiet = {"warnings": False} if hasattr(kind, "__pydantic_serializer__") else {}
        return cast(Any, dump(value, mode="python", **quiet))
    if kind.__module__ == "numpy" and hasattr(kind, "tolist"):
        return kind.tolist(value)
    return {"$repr": safe_repr(value), "$type": type_name(value)}


def _object(value: dict[Any, Any], above: list[int], owners: list[object]) -> _Container:
    items = _items(value)
    inside = (*above, *map(id, owners))
    named = {_key(key, inside): item for key, item in items}
    if len(named) != len(items):  # 1 and "1": as text they are one key, so keep the pairs
        return _Container('{"$items":[', _separated(("", [key, item]) for key, item in items), "]}", tuple(owners))
    children = _separated((_text(key) + ":", named[key]) for key in sorted(named))
    return _Container("{", children, "}", tuple(owners))


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(cast(Any, dict).items(value))  # a subclass's `items` may be hostile


def _array(value: list[Any], owners: list[object]) -> _Container:
    return _Container("[", _separated(("", item) for item in value), "]", tuple(owners))


def _separated(children: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    separator = ""
    for prefix, child in children:
        yield separator + prefix, child
        separator = ","


def _key(key: Any, above: tuple[int, ...]) -> str:
    if isinstance(key, enum.Enum) and isinstance(key.value, str):
        key = key.value
    return str.__str__(key) if isinstance(key, str) else _encode(key, above)


def _marker(name: str, text: str) -> str:
    return f'{{"{name}":{_text(text)}}}'


def _description(value: Any) -> str:
    return f'{{"$repr":{_text(safe_repr(value))},"$type":{_text(type_name(value))}}}'
