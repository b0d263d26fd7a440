"""Classes by their names, `module:qualname`, so that a recorded value can say what it was.  See `faithful.py`.

A name is given only when it leads back to the very same class now, and a class found by a name is only ever made an
instance of without calling it.  A record is data that others may have written: reading one never imports a module that
only the record names, and runs no code of a module or class to look a name up in it.
"""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

from playhead.errors import CannotRestore, NotFaithful

_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
_NOT_FOUND: Any = object()


class _DeclaredModules:
    """Packages and modules that the program has declared: they may be imported when a record names them."""

    modules: tuple[str, ...] = ()


def declare_modules(modules: Iterable[str]) -> None:
    """Sets the modules and packages that may be imported to restore a value, with everything below them. Replaces the
    previous ones.
    """
    _DeclaredModules.modules = tuple(modules)


def name_of(kind: Any) -> str:
    """The name that leads back to this class; raises NotFaithful for those that have none, such as local classes."""
    module, qualname = getattr(kind, "__module__", None), getattr(kind, "__qualname__", None) or kind.__name__
    if not isinstance(module, str) or _found(sys.modules.get(module), qualname) is not kind:
        raise NotFaithful(
            f"the class {module}.{qualname} cannot be found by its name; define it at the top of a module"
        )
    return f"{module}:{qualname}"


def class_named(name: Any) -> Any:
    """The class with a name from `name_of`. Raises CannotRestore."""
    module, _, qualname = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not module or not qualname or module.startswith("."):
        raise CannotRestore(f"{name!r} does not name a class; the record is damaged")
    found = _found(_module_named(module, name), qualname)
    if found is _NOT_FOUND:
        raise ClassGone(f"the class {name} of a recorded value is gone; bring it back or fork before it")
    return found


class ClassGone(CannotRestore):
    """The module that a record names is here, and has no such class (any more)."""


def _module_named(module: str, name: str) -> Any:
    # The resumed script is `__main__` again, and importing that by name would run it a second time.
    known = sys.modules.get(module)
    if known is not None:
        return known
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


def _found(owner: Any, qualname: str) -> Any:
    """The value under a name in a module, without calling any `__getattr__`, property or lazy loader."""
    for part in qualname.split("."):
        try:
            own: Any = type.__dict__["__dict__"].__get__(owner) if isinstance(owner, type) else _namespace(owner)
            owner = own.get(part, _NOT_FOUND)
        except AttributeError:
            return _NOT_FOUND
    return owner


def _namespace(module: Any) -> Any:
    return object.__getattribute__(module, "__dict__")


def model_reference(kind: Any) -> Any:
    """Names a class, or a pydantic generic with its arguments, which has no name of its own."""
    generic = cast("dict[str, Any]", getattr(kind, "__pydantic_generic_metadata__", {}))
    if not generic.get("origin"):
        return name_of(kind)
    return {"origin": name_of(generic["origin"]), "args": [model_reference(arg) for arg in generic["args"]]}


def class_of_reference(reference: Any) -> Any:
    """What `model_reference` named."""
    if not isinstance(reference, dict):
        return class_named(reference)
    parts = cast(dict[str, Any], reference)
    origin = class_named(parts["origin"])
    if not is_model(origin):
        raise CannotRestore(f"{parts['origin']} is not a pydantic model; it was one when the value was recorded")
    return origin[tuple(class_of_reference(arg) for arg in parts["args"])]


def is_model(kind: Any) -> bool:
    """Whether it is a pydantic model's class.  Without pydantic there are none: nothing is imported to find out."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def is_built_in(kind: type) -> bool:
    """Whether it was written in C, and may keep what no attribute shows."""
    return not kind.__flags__ & _HEAP


def has_plain_layout(kind: type) -> bool:
    """Whether `object.__new__` makes an instance of it: no built-in type but `object` among its bases."""
    return not any(map(is_built_in, kind.__mro__[:-1]))


def solid_base(kind: type) -> Any:
    """The built-in type that an instance of it is laid out as."""
    while not is_built_in(kind):
        kind = cast(type, kind.__base__)
    return kind
