"""Built-in and standard-library values <-> tagged JSON: one pair of functions for each tag. See `faithful.py`.

`Inner` encodes or decodes the values inside a value. A decoder may get any data, and may raise anything: `decode` turns
that into one clear error.
"""

import base64
import datetime
import math
import pathlib
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from playhead.errors import CannotRestore, NotFaithful
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.objects.arrays import ArrayRoom
from playhead.model.objects.tree_json import MAX_INTEGER_BITS
from playhead.refs.named_classes import class_named, is_model, name_of
from playhead.refs.plain import MARK, all_str, are_plain_scalars, is_marked, is_text, parts_for_json

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

Tree = dict[str, Any]


class Inner(Protocol):
    """Encodes or decodes the values inside a value. `lenient`: parts of an exception that cannot be kept are left out,
    and listed.

    `with_defaults`: fields that were added to a class since the value was recorded get their defaults.
    """

    lenient: bool
    with_defaults: bool

    def __call__(self, value: object, /) -> Any: ...


class Decoding(Inner, Protocol):
    """Decodes the values inside a value."""

    def bytes_of(self, tree: object) -> bytes:
        """Returns the bytes for which `Encoding.kept` returned this tree. Raises CannotRestore."""
        ...


class Encoding(Inner, Protocol):
    """Encodes the values inside a value."""

    array_room: ArrayRoom
    """How many bytes of array elements are kept."""

    def kept(self, data: bytes) -> Any:
        """Returns plain JSON values for these bytes: see `Decoding.bytes_of`."""
        ...

    def take(self, weight: int) -> None:
        """Counts the weight of something that is encoded. Raises NotFaithful if the value becomes too large."""
        ...

    def name_of(self, kind: object) -> Any:
        """Returns the name of a class: see `named_classes.model_reference`. Raises NotFaithful."""
        ...


SHORT_BITS = 64
"""Integers with more bits are weighed."""
_PATHS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
}
_FACTORIES = frozenset(
    {list, dict, set, tuple, str, int, float, bool, bytes, frozenset, Counter, OrderedDict, defaultdict, deque}
)


def tagged(tag: str, **fields: object) -> Tree:
    """Returns a tree that `decode` reads by its tag."""
    return {MARK: tag, **fields}


# --- containers ------------------------------------------------------------------------------------------------------


def _dict(value: dict[Any, Any], inner: Inner) -> Tree:
    keys = list(value)
    if _is_plain_object(keys) and not is_marked(value):
        return dict(zip(keys, encoded_items(value.values(), inner), strict=True))
    return tagged("dict", **_pairs(value, inner))


def encoded_items(values: Iterable[Any], inner: Inner) -> list[Any]:
    """Encodes the values inside a value, one by one."""
    items = list(values)
    return items if are_plain_scalars(items, SHORT_BITS) else [*map(inner, items)]


def _is_plain_object(keys: list[Any]) -> bool:
    """Whether a JSON object restores these keys in this order."""
    return all_str(keys) and keys == sorted(keys) and is_text("".join(keys))


def _pairs(value: dict[Any, Any], inner: Inner) -> Tree:
    if getattr(value, "__dict__", None):
        raise NotFaithful(f"this {type(value).__name__} has attributes of its own")
    return {"keys": encoded_items(value, inner), "values": encoded_items(value.values(), inner)}


def _from_pairs(tree: Tree, inner: Inner) -> list[tuple[Any, Any]]:
    return list(zip(map(inner, tree["keys"]), map(inner, tree["values"]), strict=True))


def _defaultdict(value: defaultdict[Any, Any], inner: Inner) -> Tree:
    factory: Any = value.default_factory
    if factory is not None and not _is_safe_factory(factory):
        raise NotFaithful("a defaultdict's factory can be kept when it is a built-in type, dataclass or pydantic model")
    return tagged("defaultdict", factory=None if factory is None else name_of(factory), **_pairs(value, inner))


def _to_defaultdict(tree: Tree, inner: Inner) -> defaultdict[Any, Any]:
    factory = None if tree["factory"] is None else class_named(tree["factory"])
    if factory is not None and not _is_safe_factory(factory):
        raise CannotRestore(f"{tree['factory']} cannot be a defaultdict's factory here")
    return defaultdict(factory, _from_pairs(tree, inner))


def _is_safe_factory(factory: Any) -> bool:
    return isinstance(factory, type) and (factory in _FACTORIES or is_dataclass(factory) or is_model(factory))


def _to_counter(tree: Tree, inner: Inner) -> Counter[Any]:
    return Counter(dict(_from_pairs(tree, inner)))


def _items(tag: str) -> Callable[[Any, Inner], Tree]:
    return lambda value, inner: tagged(tag, items=encoded_items(value, inner))


def _sorted_items(tag: str) -> Callable[[Any, Inner], Tree]:
    # A set's order differs from process to process; equal sets must become equal bytes.
    return lambda value, inner: tagged(tag, items=sorted(encoded_items(value, inner), key=canonical_json))


def _made_of_items(kind: Callable[[list[Any]], Any]) -> Callable[[Tree, Inner], Any]:
    return lambda tree, inner: kind([inner(item) for item in tree["items"]])


# --- texts, numbers, bytes, times ------------------------------------------------------------------------------------


def text_tree(value: str) -> str | Tree:
    """The text itself, or its parts where JSON would join two surrogates in it."""
    if value.isascii():
        return value
    parts = parts_for_json(value)
    return value if len(parts) == 1 else tagged("text", parts=parts)


def _int(value: int, _: Inner) -> Any:
    return value if value.bit_length() <= MAX_INTEGER_BITS else tagged("int", hex=hex(value))


def _float(value: float, _: Inner) -> Any:
    return value if math.isfinite(value) else tagged("float", text=repr(value))


def _base64(tag: str) -> Callable[[Any, Inner], Tree]:
    return lambda value, _: tagged(tag, base64=base64.b64encode(value).decode())


def _bytes(tree: Tree, _: Inner) -> bytes:
    return base64.b64decode(tree["base64"], validate=True)


def _datetime(value: datetime.datetime, inner: Inner) -> Tree:
    text = value.replace(tzinfo=None, fold=0).isoformat()
    return tagged("datetime", at=text, fold=value.fold, zone=_zone(value.tzinfo, inner))


def _time(value: datetime.time, inner: Inner) -> Tree:
    text = value.replace(tzinfo=None, fold=0).isoformat()
    return tagged("time", at=text, fold=value.fold, zone=_zone(value.tzinfo, inner))


def _at(kind: Any) -> Callable[[Tree, Inner], Any]:
    return lambda tree, inner: kind.fromisoformat(tree["at"]).replace(tzinfo=inner(tree["zone"]), fold=tree["fold"])


def _zone(value: Any, inner: Inner) -> Any:
    kind = cast(Any, type(value))
    if kind.__name__ == "TzInfo" and kind.__module__.startswith("pydantic_core"):  # what pydantic reads from JSON
        return tagged("pydantic zone", seconds=value.utcoffset(None).total_seconds())
    return inner(value)


def _pydantic_zone(tree: Tree, _: Inner) -> Any:
    from pydantic_core import TzInfo  # noqa: PLC0415 - only for those who use it

    return TzInfo(tree["seconds"])


def _timedelta(value: datetime.timedelta, _: Inner) -> Tree:
    return tagged("timedelta", days=value.days, seconds=value.seconds, microseconds=value.microseconds)


def _to_timedelta(tree: Tree, _: Inner) -> datetime.timedelta:
    return datetime.timedelta(tree["days"], tree["seconds"], tree["microseconds"])


def _timezone(value: datetime.timezone, inner: Inner) -> Tree:
    offset, *name = cast(Any, value).__getinitargs__()
    return tagged("timezone", offset=inner(offset), name=[*map(inner, name)])


def _zone_info(value: "ZoneInfo", _: Inner) -> Tree:
    if not value.key:
        raise NotFaithful("this time zone was read from a file and has no key")
    return tagged("zone", key=value.key)


def _to_zone(tree: Tree, _: Inner) -> "ZoneInfo":
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - see `_LATE_ENCODERS`

    return ZoneInfo(tree["key"])


def _to_decimal(tree: Tree, _: Inner) -> Any:
    from decimal import Decimal  # noqa: PLC0415 - see `_LATE_ENCODERS`

    return Decimal(tree["text"])


def _to_fraction(tree: Tree, inner: Inner) -> Any:
    from fractions import Fraction  # noqa: PLC0415 - see `_LATE_ENCODERS`

    return Fraction(*map(inner, tree["parts"]))


def _parts(tag: str, *names: str) -> Callable[[Any, Inner], Tree]:
    return lambda value, inner: tagged(tag, parts=[inner(getattr(value, name)) for name in names])


def _made_of_parts(kind: Callable[..., Any]) -> Callable[[Tree, Inner], Any]:
    return lambda tree, inner: kind(*map(inner, tree["parts"]))


def _path(value: pathlib.PurePath, _: Inner) -> Tree:
    return tagged("path", flavour=type(value).__name__, text=text_tree(str(value)))


LEAVES = frozenset({type(None), bool, str, int, float})
"""Types of which a value has many, and which have no values inside."""

ENCODERS: dict[type, Callable[[Any, Inner], Any]] = {
    type(None): lambda value, _: value,
    bool: lambda value, _: value,
    str: lambda value, _: text_tree(value),
    int: _int,
    float: _float,
    complex: _parts("complex", "real", "imag"),
    bytes: _base64("bytes"),
    bytearray: _base64("bytearray"),
    list: encoded_items,
    tuple: _items("tuple"),
    set: _sorted_items("set"),
    frozenset: _sorted_items("frozenset"),
    deque: lambda value, inner: tagged("deque", items=encoded_items(value, inner), maxlen=value.maxlen),
    dict: _dict,
    OrderedDict: lambda value, inner: tagged("OrderedDict", **_pairs(value, inner)),
    Counter: lambda value, inner: tagged("Counter", **_pairs(value, inner)),
    defaultdict: _defaultdict,
    datetime.datetime: _datetime,
    datetime.date: lambda value, _: tagged("date", at=value.isoformat()),
    datetime.time: _time,
    datetime.timedelta: _timedelta,
    datetime.timezone: _timezone,
    uuid.UUID: lambda value, _: tagged("uuid", hex=value.hex),
    range: _parts("range", "start", "stop", "step"),
    **dict.fromkeys(_PATHS.values(), _path),
}

# Classes of modules that take memory (0.7 MB together): a program that has such a value has loaded its module.
_LATE_ENCODERS: dict[tuple[str, str], Callable[[Any, Inner], Any]] = {
    ("zoneinfo", "ZoneInfo"): _zone_info,
    ("decimal", "Decimal"): lambda value, _: tagged("decimal", text=str(value)),
    ("fractions", "Fraction"): _parts("fraction", "numerator", "denominator"),
}


def encoder_of(kind: type) -> Callable[[Any, Inner], Any] | None:
    """Returns the function for values of exactly this class; None: there is none."""
    encoder = ENCODERS.get(kind)
    if encoder is not None or (name := (kind.__module__, kind.__name__)) not in _LATE_ENCODERS:
        return encoder
    if getattr(sys.modules.get(name[0]), name[1], None) is not kind:
        return None  # a class of the program that claims to be from that module
    return ENCODERS.setdefault(kind, _LATE_ENCODERS[name])


DECODERS: dict[str, Callable[[Tree, Inner], Any]] = {
    "json": lambda tree, _: parse_json(tree["text"]),
    "text": lambda tree, _: "".join(tree["parts"]),
    "int": lambda tree, _: int(tree["hex"], 16),
    "float": lambda tree, _: float(tree["text"]),
    "complex": _made_of_parts(complex),
    "bytes": _bytes,
    "bytearray": lambda tree, inner: bytearray(_bytes(tree, inner)),
    "tuple": _made_of_items(tuple),
    "set": _made_of_items(set),
    "frozenset": _made_of_items(frozenset),
    "deque": lambda tree, inner: deque(map(inner, tree["items"]), tree["maxlen"]),
    "dict": lambda tree, inner: dict(_from_pairs(tree, inner)),
    "OrderedDict": lambda tree, inner: OrderedDict(_from_pairs(tree, inner)),
    "Counter": _to_counter,
    "defaultdict": _to_defaultdict,
    "datetime": _at(datetime.datetime),
    "date": lambda tree, _: datetime.date.fromisoformat(tree["at"]),
    "time": _at(datetime.time),
    "timedelta": _to_timedelta,
    "timezone": lambda tree, inner: datetime.timezone(inner(tree["offset"]), *map(inner, tree["name"])),
    "zone": _to_zone,
    "pydantic zone": _pydantic_zone,
    "uuid": lambda tree, _: uuid.UUID(hex=tree["hex"]),
    "decimal": _to_decimal,
    "fraction": _to_fraction,
    "range": _made_of_parts(range),
    "path": lambda tree, inner: _PATHS[tree["flavour"]](inner(tree["text"])),
}
