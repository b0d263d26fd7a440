"""One step from a rich object towards plain values: its fields, its items, its text, or else a description."""

import dataclasses
import datetime
import os
import re
import types
import uuid
from typing import Any, cast

from playhead.model.objects.infrastructure import name_of_type
from playhead.model.objects.interrupts import let_through
from playhead.model.objects.masking import Mask, masked

_MAX_REPR = 2_000
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{4,16}\b")  # differs in each process, and says nothing


def type_name(value: object) -> str:
    """`module.Name` of a value's type."""
    return name_of_type(type(value))


def safe_repr(value: object) -> str:
    """A bounded `repr`; a broken one is called once and described."""
    try:
        text = str.__str__(repr(value))
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        let_through(error)
        return f"<repr raised {type(error).__name__}>"
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + f"... ({len(text)} characters)"


def items_of(value: Any, mask: Mask | None) -> list[Any]:
    """What a list or tuple holds; of a named tuple, the fields that are secrets masked."""
    own_iterator = cast(Any, list if isinstance(value, list) else tuple).__iter__
    items: list[Any] = list(own_iterator(value))  # a subclass's iterator may never end
    names = field_names(value) if mask else None
    if mask and names is not None and len(names) == len(items):
        return [masked(item) if mask.hides(name, item) else item for name, item in zip(names, items, strict=True)]
    return items


def field_names(value: Any) -> tuple[str, ...] | None:
    """Those of a named tuple; None for all else."""
    kind: Any = cast(Any, type(value))
    names: Any = None
    if issubclass(kind, tuple):
        names = getattr(cast(Any, kind), "_fields", None)
    return cast("tuple[str, ...]", names) if type(names) is tuple else None


def plain_object(value: Any) -> Any:
    """None for what can only be described."""
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
    if isinstance(fields := getattr(kind, "__attrs_attrs__", None), tuple):
        shown = [field.name for field in cast(tuple[Any, ...], fields) if field.repr is not False]
        return {name: getattr(value, name) for name in shown if hasattr(value, name)}
    return dict(cast(dict[str, Any], vars(value))) if kind is types.SimpleNamespace else None


def described(value: Any, mask: Mask | None) -> dict[str, str]:
    """The description of what is no JSON and has no fields to show."""
    text = _ADDRESS.sub("", safe_repr(value))
    return {"$repr": mask.text(text) if mask else text, "$type": type_name(value)}
