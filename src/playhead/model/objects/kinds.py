"""How an object is read, decided by its class alone: what an object says of itself (`__class__`) is not asked.

What is asked of a class is kept for as long as the class lives.  Nothing is imported to find out: other people's
classes are known by the names of the classes that they inherit from.
"""

import dataclasses
import datetime
import enum
import functools
import os
import sys
import types
import uuid
from collections import UserList, deque
from collections.abc import Callable, Mapping, Set, ValuesView
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from playhead.model.objects.arrays import ARRAY_ELEMENTS, ARROW_CELLS, cell_weight, family_of, reading_weight
from playhead.model.objects.infrastructure import is_machinery, listed_as, name_of_type
from playhead.model.objects.limits import digits_weight
from playhead.model.objects.masking import KeyedValue
from playhead.model.objects.plain_forms import class_of

Reading = Literal[
    "enum",
    "scalar",
    "keyed value",
    "type only",
    "array",
    "array element",
    "dict",
    "list",
    "items",
    "mapping",
    "bytes",
    "set",
    "fields",
    "iso",
    "text",
    "dump",
    "namespace",
    "method",
    "default repr",
    "holder repr",
    "repr",
]
"""The first step from an object towards plain values."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How instances of a class are read."""

    reading: Reading
    name: str
    """`module.Name` of the class."""
    own: bool = False
    """Whether programs write such values down themselves, so that nothing is masked in them."""
    is_final: bool = True
    """Whether such objects are described or gone into, and do not stand for another value."""
    fields: tuple[str, ...] = ()
    """Of a dataclass, an attrs class, a named tuple."""
    family: str = ""
    """Of arrays: see `arrays.py`."""
    weigh: Callable[[Any], int] | None = None
    """What code of Python or of a library takes, at once, to read such an object, in the units of `limits.py`."""


# Objects that do something when they are looked at (a query, a request, an import, a computation), and stand-ins for
# others, which pass on whatever they are asked.
_LAZY = {
    "dask": "Array Bag DataFrame Delayed FrameBase Series",
    "django.db.models.query": "QuerySet RawQuerySet",
    "django.utils.functional": "LazyObject __proxy__",
    "ibis": "Expr",
    "lazy_object_proxy": "Proxy",
    "mongoengine.queryset": "BaseQuerySet",
    "peewee": "BaseQuery",
    "polars": "LazyFrame",
    "pony.orm.core": "Query",
    "pyspark": "Column DataFrame RDD",
    "tortoise.queryset": "AwaitableQuery",
    "werkzeug.local": "LocalProxy",
    "wrapt": "AutoObjectProxy BaseObjectProxy LazyObjectProxy ObjectProxy",
    "_wrappers": "ObjectProxy",  # of wrapt
    # What is called on a mock is what a test asserts.
    "mock.mock": "NonCallableMock",
    "unittest.mock": "NonCallableMock",
    "importlib.util": "_LazyModule",
}
_LAZY_CLASSES = {package: dict.fromkeys(names.split(), True) for package, names in _LAZY.items()}
_FRACTIONS = {"fractions": {"Fraction": True}}
_STANDS_FOR_ANOTHER = frozenset(
    {"array", "array element", "dump", "enum", "items", "iso", "keyed value", "namespace", "scalar", "text"}
)
_OWN = (dict, list, tuple, set, frozenset, bytes, bytearray, memoryview, enum.Enum)
_plans: WeakKeyDictionary[type, Plan] = WeakKeyDictionary()


def plan_of(kind: type) -> Plan:
    """How instances of this class are read."""
    plan = _plans.get(kind)
    if plan is None:
        plan = _plans[kind] = _plan_of(kind)
    return plan


def _plan_of(kind: type) -> Plan:
    name = name_of_type(kind)
    fields = _tuple_fields(kind)
    reading = _reading_of(kind)
    own = issubclass(kind, _OWN) and fields is None
    is_final = reading not in _STANDS_FOR_ANOTHER
    family = family_of(kind) or ""
    weigh = _weight_of(cast("type", kind), reading, family)
    return Plan(reading, name, own, is_final, fields or _fields(kind), family, weigh)


def _weight_of(kind: type, reading: Reading, family: str) -> Callable[[Any], int] | None:
    if reading == "array":
        return functools.partial(reading_weight, family=family)
    if listed_as(kind, ARROW_CELLS):
        return cell_weight
    return _fraction_weight if listed_as(kind, _FRACTIONS) else None


def _fraction_weight(value: Any) -> int:
    fraction: Any = sys.modules["fractions"].Fraction  # not what a subclass says
    bits = fraction.numerator.fget(value).bit_length() + fraction.denominator.fget(value).bit_length()
    return digits_weight(bits)


def _reading_of(kind: Any) -> Reading:
    for is_such, reading in _RULES:
        if is_such(kind):
            return reading
    return _REPRS.get(kind.__repr__, "repr")


def _is(*bases: type) -> Callable[[type], bool]:
    return lambda kind: issubclass(kind, bases)


# The first that holds.  Enumerations come first: those of texts and numbers are their values.
_RULES: tuple[tuple[Callable[[Any], Any], Reading], ...] = (
    (_is(enum.Enum), "enum"),
    (_is(str, int, float), "scalar"),
    (_is(KeyedValue), "keyed value"),
    (is_machinery, "type only"),
    (lambda kind: listed_as(kind, _LAZY_CLASSES), "type only"),
    (family_of, "array"),
    (lambda kind: listed_as(kind, ARRAY_ELEMENTS), "array element"),
    (_is(dict), "dict"),
    (_is(list, tuple), "list"),
    (_is(deque, UserList, ValuesView), "items"),
    (_is(Mapping), "mapping"),
    (_is(bytes, bytearray, memoryview), "bytes"),
    (_is(Set), "set"),
    (lambda kind: hasattr(kind, "__dataclass_fields__"), "fields"),
    (_is(datetime.datetime, datetime.date, datetime.time), "iso"),
    (_is(uuid.UUID, os.PathLike), "text"),
    (lambda kind: callable(getattr(kind, "model_dump", None)), "dump"),  # pydantic v2
    (lambda kind: isinstance(getattr(kind, "__attrs_attrs__", None), tuple), "fields"),
)
_PARTIAL: Any = functools.partial
# Python's own, which go into everything that the object holds.
_REPRS: dict[Any, Reading] = {
    object.__repr__: "default repr",
    types.SimpleNamespace.__repr__: "namespace",
    types.MethodType.__repr__: "method",
    BaseException.__repr__: "holder repr",
    _PARTIAL.__repr__: "holder repr",
}


def _tuple_fields(kind: Any) -> tuple[str, ...] | None:
    """The names of a named tuple's fields; None for all else."""
    names = getattr(kind, "_fields", None) if _is(tuple)(kind) else None
    return cast("tuple[str, ...]", names) if class_of(names) is tuple else None


def _fields(kind: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass, or of an attrs class, of which some are not shown."""
    if hasattr(kind, "__dataclass_fields__"):
        return tuple(field.name for field in dataclasses.fields(kind))
    fields = getattr(kind, "__attrs_attrs__", ())  # a named tuple
    return tuple(field.name for field in fields if field.repr is not False) if _is(tuple)(class_of(fields)) else ()
