"""Finds classes by their names, `module:qualname`, so that a recorded value can name its class. See `faithful.py`.

A class has a name only if the name leads back to the very same class now. A class found by its name is only used to
make an instance without calling it. A record is data that others may have written: reading one never imports a module
that only the record names, and runs no code of a module or class to look a name up in it.
"""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

from playhead.errors import CannotRestore, NotFaithful

_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
_NOT_FOUND: Any = object()


class _DeclaredModules:
    """Packages and modules that the program has declared, which may be imported when a record names them."""

    modules: tuple[str, ...] = ()


def declare_modules(modules: Iterable[str]) -> None:
    """Sets the modules and packages that may be imported to restore a value, with everything below them. Replaces the
    previous ones.
    """
    _DeclaredModules.modules = tuple(modules)


def name_of(kind: Any) -> str:
    """Returns the name that leads back to this class. Raises NotFaithful for a class that has none, such as a local
    class."""
    module, qualname = getattr(kind, "__module__", None), getattr(kind, "__qualname__", None) or kind.__name__
    if not isinstance(module, str) or _found(sys.modules.get(module), qualname) is not kind:
        raise NotFaithful(
            f"the class {module}.{qualname} cannot be found by its name; define it at the top of a module"
        )
    return f"{module}:{qualname}"


def class_named(name: Any) -> Any:
    """Returns the class with a name from `name_of`. Raises CannotRestore."""
    module, _, qualname = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not module or not qualname or module.startswith("."):
        raise CannotRestore(f"{name!r} does not name a class; the record is damaged")
    kind = _found(_module_named(module, name), qualname)
    if kind is _NOT_FOUND:
        raise ClassGone(f"the class {name} of a recorded value is gone; bring it back or fork before it")
    return kind


class ClassGone(CannotRestore):
    """The class that a record names does not exist (any more): its module is here without it, or cannot be imported."""


def _module_named(module: str, name: str) -> Any:
    # The resumed script is `__main__` again, and importing that by name would run it a second time.
    loaded = sys.modules.get(module)
    if loaded is not None:
        return loaded
    if not any(module == declared or module.startswith(f"{declared}.") for declared in _DeclaredModules.modules):
        raise CannotRestore(
            f"the class {name} of a recorded value is in a module that this program has not imported, and a record "
            f"imports none: import {module} before the run goes on, or declare it, PLAYHEAD_RESTORABLE={module}"
        )
    try:
        return import_module(module)
    except ImportError as error:
        raise ClassGone(
            f"the class {name} of a recorded value is gone ({error}); bring it back or fork before it"
        ) from error


def _found(owner: object, qualname: str) -> Any:
    """Returns the value under a name in a module, without calling any `__getattr__`, property or lazy loader;
    `_NOT_FOUND` if there is none."""
    for part in qualname.split("."):
        try:
            namespace: Any = type.__dict__["__dict__"].__get__(owner) if isinstance(owner, type) else _namespace(owner)
            owner = namespace.get(part, _NOT_FOUND)
        except AttributeError:
            return _NOT_FOUND
    return owner


def _namespace(module: object) -> Any:
    return object.__getattribute__(module, "__dict__")


def model_reference(kind: object) -> Any:
    """Returns the name of a class; for a pydantic generic with arguments, which has no name of its own, the names of
    its parts."""
    generic = cast("dict[str, Any]", getattr(kind, "__pydantic_generic_metadata__", {}))
    if not generic.get("origin"):
        return name_of(kind)
    return {"origin": name_of(generic["origin"]), "args": [model_reference(arg) for arg in generic["args"]]}


def class_of_reference(reference: object) -> Any:
    """Returns the class from the result of `model_reference`. Raises CannotRestore."""
    if not isinstance(reference, dict):
        return class_named(reference)
    parts = cast(dict[str, Any], reference)
    origin = class_named(parts["origin"])
    if not is_model(origin):
        raise CannotRestore(f"{parts['origin']} is not a pydantic model; it was one when the value was recorded")
    return origin[tuple(class_of_reference(arg) for arg in parts["args"])]


def is_model(kind: Any) -> bool:
    """Whether this is the class of a pydantic model. Does not import pydantic: if it is not loaded, there are no
    models."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def is_built_in(kind: type) -> bool:
    """Whether the class was written in C, and may hold values that no attribute shows."""
    return not kind.__flags__ & _HEAP


def has_plain_layout(kind: type) -> bool:
    """Whether `object.__new__` makes an instance of the class: no base of it is a built-in type except `object`."""
    return not any(map(is_built_in, kind.__mro__[:-1]))


def builtin_base(kind: type) -> Any:
    """The built-in type whose memory layout instances of the class have."""
    while not is_built_in(kind):
        kind = cast(type, kind.__base__)
    return kind
