"""Decides how an object is read, from its class alone: what an object says about itself (`__class__`) is not used.

The decision is cached for as long as the class lives. Nothing is imported: classes of other packages are recognised by
the names of their base classes.
"""

import dataclasses
import datetime
import enum
import functools
import os
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
class ReadingPlan:
    """How instances of a class are read."""

    reading: Reading
    name: str
    """`module.Name` of the class."""
    own: bool = False
    """Whether programs write such values themselves (dictionaries, lists, ...), so that nothing in them is masked."""
    is_final: bool = True
    """Whether such objects are described, or read as containers. False: they stand for another value."""
    fields: tuple[str, ...] = ()
    """Field names of a dataclass, an attrs class or a named tuple."""
    family: str = ""
    """Family of arrays (see `arrays.py`); empty for other classes."""
    weigh: Callable[[Any], int] | None = None
    """Returns the cost of code of Python or of a library that reads such an object in one step, in the units of
    `limits.py`. None: there is no such code."""


# Objects that start something when they are read (a query, a request, an import, a computation), and proxies, which
# forward every access to another object.
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
    # Reading a mock would be a call that a test may count.
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
_plans: WeakKeyDictionary[type, ReadingPlan] = WeakKeyDictionary()


def plan_of(kind: type) -> ReadingPlan:
    """Returns how instances of this class are read."""
    plan = _plans.get(kind)
    if plan is None:
        plan = _plans[kind] = _plan_of(kind)
    return plan


def _plan_of(kind: type) -> ReadingPlan:
    name = name_of_type(kind)
    fields = _tuple_fields(kind)
    reading = _reading_of(kind)
    is_own = issubclass(kind, _OWN) and fields is None
    is_final = reading not in _STANDS_FOR_ANOTHER
    family = family_of(kind) or ""
    weigh = _weight_of(cast("type", kind), reading, family)
    return ReadingPlan(reading, name, is_own, is_final, fields or _fields(kind), family, weigh)


def _weight_of(kind: type, reading: Reading, family: str) -> Callable[[Any], int] | None:
    if reading == "array":
        return functools.partial(reading_weight, family=family)
    if listed_as(kind, ARROW_CELLS):
        return cell_weight
    return _fraction_weight if listed_as(kind, _FRACTIONS) else None


def _fraction_weight(value: object) -> int:
    from fractions import Fraction  # noqa: PLC0415 - the value's module, which few programs use

    fraction: Any = Fraction  # not a subclass's own
    bits = fraction.numerator.fget(value).bit_length() + fraction.denominator.fget(value).bit_length()
    return digits_weight(bits)


def _reading_of(kind: object) -> Reading:
    for is_such, reading in _RULES:
        if is_such(kind):
            return reading
    return _REPRS.get(kind.__repr__, "repr")


def _is(*bases: type) -> Callable[[type], bool]:
    return lambda kind: issubclass(kind, bases)


# The first rule that applies. Enumerations come first: some of them are texts or numbers, too.
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
# Python's own `repr`s; some include everything that the object holds.
_REPRS: dict[Any, Reading] = {
    object.__repr__: "default repr",
    types.SimpleNamespace.__repr__: "namespace",
    types.MethodType.__repr__: "method",
    BaseException.__repr__: "holder repr",
    _PARTIAL.__repr__: "holder repr",
}


def _tuple_fields(kind: Any) -> tuple[str, ...] | None:
    """Returns the field names of a named tuple; None for any other class."""
    names = getattr(kind, "_fields", None) if _is(tuple)(kind) else None
    return cast("tuple[str, ...]", names) if class_of(names) is tuple else None


def _fields(kind: Any) -> tuple[str, ...]:
    """Returns the field names of a dataclass, or of an attrs class without the fields that its `repr` hides."""
    if hasattr(kind, "__dataclass_fields__"):
        return tuple(field.name for field in dataclasses.fields(kind))
    fields = getattr(kind, "__attrs_attrs__", ())  # attrs has a named tuple of them
    return tuple(field.name for field in fields if field.repr is not False) if _is(tuple)(class_of(fields)) else ()
