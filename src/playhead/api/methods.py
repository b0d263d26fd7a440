"""`@observe` on a class: replaces the public methods that its body defines by observed ones, on the class itself.

Inherited methods are left alone: a wrapper on this class would hide an override in another base class, and so change
what the program does. The class stays the same object, for type checkers and for `isinstance`.
"""

import dataclasses
import functools
import inspect
import sys
import types
from typing import Any, cast

from playhead.calls.proxy import CallObserver, ObservedFunction, observed
from playhead.kernel.guard import guarded, warn_once

if sys.version_info >= (3, 14):
    import annotationlib

_METHODS: tuple[Any, ...] = (
    types.FunctionType,
    classmethod,
    staticmethod,
    functools.partialmethod,
    functools.singledispatchmethod,
)
# `agent("task")` is how many agents are called. All other special methods belong to Python.
_PUBLIC_SPECIAL = frozenset({"__call__"})
# Decorators looked through on one method; a longer chain can only be a circle of `__wrapped__`.
_MAX_DECORATORS = 32


def observe_methods(cls: type[Any], how: CallObserver) -> None:
    """Observes the public methods that the body of `cls` defines, each under the name `Class.method`, or
    `<name>.method` if `how` has a name. Warns once if there are none."""
    prefix = how.name or cls.__name__
    methods = public_methods(cls)
    if not methods:
        problem = f"observe() was given the class {cls.__qualname__}, whose body defines no public methods to observe"
        warn_once(f"observe {cls.__module__}.{cls.__qualname__}", f"{problem}: decorate the class that defines them")
    for name, method in methods.items():
        if not _is_observed(method):
            with guarded("observe %s.%s", prefix, name):  # a metaclass may refuse it
                setattr(cls, name, observed(method, how, f"{prefix}.{name}"))


def public_methods(cls: type[Any]) -> dict[str, Any]:
    """Returns the public methods that the body of the class defines, by name. Leaves out fields, properties, nested
    classes, objects that happen to be callable, abstract methods, and pydantic's validators and serialisers."""
    not_methods = _annotated(cls) | _of_pydantic(cls)
    return {
        name: value
        for name, value in list(vars(cls).items())
        if (not name.startswith("_") or name in _PUBLIC_SPECIAL)
        and name not in not_methods
        and _is_method(value)
        and not getattr(value, "__isabstractmethod__", False)
    }


def _is_method(value: object) -> bool:
    """Whether a class attribute is a method, also below decorators that return an object with `__wrapped__`."""
    if isinstance(value, _METHODS):
        return True
    its_type = cast("type[Any]", type(value))
    is_bound_on_read = hasattr(its_type, "__get__") and not hasattr(its_type, "__set__")
    return is_bound_on_read and callable(value) and not inspect.isclass(value) and hasattr(value, "__wrapped__")


def _is_observed(method: object) -> bool:
    """Whether the method has an `@observe` of its own, anywhere among its decorators; its options then take
    precedence."""
    for _ in range(_MAX_DECORATORS):
        if type(method) is ObservedFunction:
            return True
        inner = [getattr(method, name, None) for name in ("__wrapped__", "__func__", "func")]
        method = next((function for function in inner if function is not None), None)
    return False


def _annotated(cls: type[Any]) -> frozenset[str]:
    """Returns the names that the class body annotates: fields, whose default may be a function."""
    annotations: Any = vars(cls).get("__annotations__")
    if annotations is None and sys.version_info >= (3, 14):
        annotations = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    if type(annotations) is types.GetSetDescriptorType:  # of a built-in type
        return frozenset()
    return frozenset(annotations or ())


def _of_pydantic(cls: type[Any]) -> frozenset[str]:
    """Returns the names of a pydantic model's validators and serialisers, from which a subclass builds its schema."""
    decorators: Any = vars(cls).get("__pydantic_decorators__")
    if not dataclasses.is_dataclass(decorators):
        return frozenset()
    return frozenset(name for field in dataclasses.fields(decorators) for name in getattr(decorators, field.name))
