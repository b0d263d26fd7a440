"""Enums, named tuples, dataclasses and pydantic models <-> tagged JSON. See `faithful.py`.

An object is rebuilt by setting its attributes on an empty instance: no `__init__`, `__post_init__`, validator or setter
of the user runs a second time. Attributes that its class does not declare (added by methods) are kept, too.
"""

import enum
from collections.abc import Callable, Collection
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import MemberDescriptorType
from typing import Any, cast
from weakref import WeakKeyDictionary

from playhead.errors import CannotRestore
from playhead.model.objects.plain_forms import attributes_of, class_of
from playhead.refs.named_classes import (
    NotFaithful,
    class_named,
    class_of_reference,
    has_plain_layout,
    is_built_in,
    is_model,
    name_of,
)
from playhead.refs.value_codecs import Encoding, Inner, Tree, encoded_items, tagged

_MOSTLY_NONE = ("__pydantic_extra__", "__pydantic_private__")
_STATE_OF_MODELS = {"__dict__", "__pydantic_fields_set__", *_MOSTLY_NONE}


def object_tree(value: Any, inner: Encoding) -> Tree:
    """Returns the tree of an instance of a class of the user or of a library. Raises NotFaithful."""
    kind = class_of(value)
    match _layout_of(kind).form:
        case "dataclass":
            return _dataclass(value, inner)
        case "model":
            return _model(value, inner)
        case "enum":
            return _enum(value)
        case "url":
            return _url(value, kind)
        case "namedtuple":
            return _namedtuple(value, inner)
        case _:
            pass
    raise NotFaithful(
        f"a {kind.__module__}.{kind.__qualname__} cannot be rebuilt from data; "
        "return plain JSON values, a dataclass or a pydantic model to have it replayed"
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """How instances of a class are built: determined once for each class, and kept as long as the class lives."""

    form: str | None
    """The tag of its instances; None: they cannot be kept."""
    slots: dict[str, Any]
    fields: tuple[str, ...]
    """Names of the fields of a dataclass or a model."""
    is_sorted: bool
    """Whether the fields are sorted by name."""


_layouts: WeakKeyDictionary[type, _Layout] = WeakKeyDictionary()


def _layout_of(kind: Any) -> _Layout:
    layout = _layouts.get(kind)
    if layout is None:
        form = _form_of(kind)
        names = [field.name for field in fields(kind)] if form == "dataclass" else []
        if form == "model":
            names = [*kind.model_fields]
        layout = _layouts[kind] = _Layout(form, _slots_of(kind), tuple(names), names == sorted(names))
    return layout


def _form_of(kind: Any) -> str | None:
    if issubclass(kind, enum.Enum):
        return "enum"
    if kind.__module__ == "pydantic.networks":
        return "url"
    if hasattr(kind, "__dataclass_fields__") and has_plain_layout(kind):
        return "dataclass"
    if is_model(kind):
        return "model"
    return "namedtuple" if kind.__bases__ == (tuple,) and hasattr(kind, "_fields") else None


def _slots_of(kind: type) -> dict[str, Any]:
    """The slots that class statements declared, by their names in the instance."""
    return {
        name: member
        for base in reversed(kind.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType) and not is_built_in(base)
    }


def state_of(value: object) -> dict[str, Any]:
    """All attributes of an instance: its dictionary, and its slots that are set."""
    state = dict(attributes_of(value))
    for name, member in _layout_of(class_of(value)).slots.items():
        try:
            state[name] = member.__get__(value)
        except AttributeError:  # never set, or deleted
            continue
    return state


def set_state(value: object, state: dict[str, Any]) -> None:
    """Sets the attributes from `state_of`, bypassing frozen classes, properties and `__setattr__`."""
    slots = _layout_of(class_of(value)).slots
    for name, item in state.items():
        if name in slots:
            slots[name].__set__(value, item)
        else:
            value.__dict__[name] = item


def _enum(value: enum.Enum) -> Tree:
    kind = type(value)
    name = name_of(kind)
    if kind.__members__.get(value.name) is value:
        return tagged("enum", **{"class": name}, member=value.name)
    if isinstance(value, enum.Flag):  # several members at once
        return tagged("enum", **{"class": name}, flags=value.value)
    raise NotFaithful(f"{value!r} is no member of {name}")


def _to_enum(tree: Tree, _: Inner) -> enum.Enum:
    kind: Any = class_named(tree["class"])
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        raise CannotRestore(f"{tree['class']} is no enum; it was one when the value was recorded")
    if "flags" in tree and issubclass(kind, enum.Flag) and type(tree["flags"]) is int:
        return kind(tree["flags"])
    if tree.get("member") not in kind.__members__:
        raise CannotRestore(f"{tree['class']} has no member {tree.get('member')!r} any more")
    return kind.__members__[tree["member"]]


def _namedtuple(value: Any, inner: Encoding) -> Tree:
    kind = class_of(value)
    if getattr(value, "__dict__", None):
        raise NotFaithful(f"this {kind.__qualname__} has attributes of its own")
    return tagged("namedtuple", **{"class": inner.name_of(kind)}, fields=list(kind._fields), items=[*map(inner, value)])


def _to_namedtuple(tree: Tree, inner: Inner) -> Any:
    kind: Any = class_named(tree["class"])
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise CannotRestore(f"{tree['class']} is no named tuple; it was one when the value was recorded")
    if list(getattr(cast(Any, kind), "_fields", ())) != tree["fields"] or len(tree["items"]) != len(tree["fields"]):
        raise CannotRestore(f"the fields of {tree['class']} are not those that were recorded: {tree['fields']}")
    return cast(Any, tuple).__new__(kind, map(inner, tree["items"]))


def _dataclass(value: object, inner: Encoding) -> Tree:
    kind = class_of(value)
    layout, state = _layout_of(kind), state_of(value)
    unset = [name for name in layout.fields if name not in state]
    return tagged("dataclass", **{"class": inner.name_of(kind)}, state=_state_tree(state, layout, inner), unset=unset)


def _state_tree(state: dict[str, Any], layout: _Layout, inner: Encoding) -> Tree:
    """Returns the same as `inner(state)`, in half the time if the state has the fields of the class and no others."""
    if tuple(state) != layout.fields:
        return inner(state)
    names, values = [*state], encoded_items(state.values(), inner)
    return dict(zip(names, values, strict=True)) if layout.is_sorted else tagged("dict", keys=names, values=values)


def _to_dataclass(tree: Tree, inner: Inner) -> Any:
    kind: Any = class_named(tree["class"])
    if not (isinstance(kind, type) and is_dataclass(kind) and has_plain_layout(kind)):
        raise CannotRestore(f"{tree['class']} is no dataclass; it was one when the value was recorded")
    value, state = object.__new__(kind), inner(tree["state"])
    if inner.with_defaults:
        recorded = {*state, *tree["unset"]}
        state |= {
            field.name: default for field in fields(kind) if (default := _default(field, recorded)) is not MISSING
        }
    _refuse_new_fields(tree, {field.name for field in fields(kind)}, state)
    set_state(value, state)
    return value


def _default(field: Field[Any], recorded: Collection[str]) -> Any:
    """The default of a field that the recorded value did not have; MISSING if it had the field, or there is no
    default."""
    if field.name in recorded or field.default is not MISSING:
        return MISSING if field.name in recorded else field.default
    return MISSING if field.default_factory is MISSING else field.default_factory()


def _model(value: Any, inner: Encoding) -> Tree:
    from pydantic import BaseModel  # noqa: PLC0415 - it is there, since the value is a model

    kind = class_of(value)
    layout, state = _layout_of(kind), BaseModel.__getstate__(value)
    fields_set: Any = state.get("__pydantic_fields_set__", ())
    values = state["__dict__"]
    if state.keys() == _STATE_OF_MODELS and class_of(fields_set) is set and fields_set.issubset(layout.fields):
        # Same as `inner(state)`, in half the time.
        tree: Any = {name: inner(state[name]) for name in _MOSTLY_NONE if state[name] is not None}
        tree["__dict__"] = _state_tree(values, layout, inner)
        tree["__pydantic_fields_set__"] = tagged("set", items=sorted(fields_set))
    else:
        tree = inner(state)
    unset = [name for name in layout.fields if name not in values]
    return tagged("model", **{"class": inner.name_of(kind)}, state=tree, unset=unset)


def _to_model(tree: Tree, inner: Inner) -> Any:
    kind: Any = class_of_reference(tree["class"])
    if not is_model(kind):
        raise CannotRestore(f"{tree['class']} is no pydantic model; it was one when the value was recorded")
    from pydantic import BaseModel  # noqa: PLC0415 - it is there, since the class is a model

    value, state = object.__new__(kind), dict.fromkeys(_MOSTLY_NONE) | inner(tree["state"])
    if inner.with_defaults:
        recorded = {*state["__dict__"], *tree["unset"]}
        new = {name: field for name, field in kind.model_fields.items() if name not in recorded}
        state["__dict__"] |= {
            name: field.get_default(call_default_factory=True, validated_data=state["__dict__"])
            for name, field in new.items()
            if not field.is_required()
        }
    _refuse_new_fields(tree, set(kind.model_fields), state["__dict__"])
    BaseModel.__setstate__(value, state)
    return value


def _refuse_new_fields(tree: Tree, declared: Collection[str], state: dict[str, Any]) -> None:
    missing = sorted(set(declared) - set(state) - set(tree["unset"]))
    if missing:
        raise CannotRestore(f"{tree['class']} has fields that it did not have when recorded: {', '.join(missing)}")


def _url(value: Any, kind: Any) -> Tree:
    if not hasattr(value, "unicode_string"):
        raise NotFaithful(f"a pydantic {kind.__qualname__} cannot be rebuilt from data")
    return tagged("url", kind=kind.__name__, text=str(value))


def _to_url(tree: Tree, _: Inner) -> Any:
    from pydantic import networks  # noqa: PLC0415 - only for those who use it

    kind = vars(networks).get(tree["kind"])
    if not (isinstance(kind, type) and hasattr(kind, "unicode_string")):
        raise CannotRestore(f"pydantic has no URL of the kind {tree['kind']!r}")
    return kind(tree["text"])


OBJECT_DECODERS: dict[str, Callable[[Tree, Inner], Any]] = {
    "enum": _to_enum,
    "namedtuple": _to_namedtuple,
    "dataclass": _to_dataclass,
    "model": _to_model,
    "url": _to_url,
}
