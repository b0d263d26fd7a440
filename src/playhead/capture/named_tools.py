"""Functions that are named to be recorded as tools (`module:function`): observed when the program imports their module.

They are observed as by `@observe(kind="tool")`: recorded with arguments and result, and answered from the record on
resume. Nothing is imported for that. Why a function cannot be recorded is logged when its module is imported.

Code that has imported the function by `from module import function` before calls it unobserved. That is logged, too.
"""

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from playhead.api.observe import ObserveOptions
from playhead.calls.proxy import innermost, observed
from playhead.calls.span import ObservedSpan
from playhead.calls.steps import Steps
from playhead.capture.frameworks.observing import is_observed
from playhead.capture.patching import attributes_of
from playhead.kernel.guard import log

_FUNCTIONS: tuple[type, ...] = (
    types.FunctionType,
    types.BuiltinFunctionType,
    classmethod,
    staticmethod,
    functools.partial,
    functools.partialmethod,
)
_MAX_NAMED_IMPORTERS = 5

_TOOL = ObserveOptions(None, "tool", True, True, None, {}, None)


class _NamedToolObserver:
    """Observes the calls of one named function as a tool, until it is switched off.

    The switch is needed since a program may keep the observed function, which cannot be taken back there.
    """

    def __init__(self, label: str):
        self.name: str | None = label
        self.kind: str | None = "tool"
        self.capture_output = True
        self.attributes: dict[str, Any] = {}
        self.is_on = True

    def output_name(self, kind: str) -> str:
        return _TOOL.output_name(kind)

    def begin(self, name: str, arguments: dict[str, Any] | None, attributes: dict[str, Any]) -> ObservedSpan | None:
        return _TOOL.begin(name, arguments, attributes) if self.is_on else None

    def approve(self, name: str, arguments: Callable[[], dict[str, Any]]) -> Steps[None] | None:
        return _TOOL.approve(name, arguments) if self.is_on else None


@dataclass(frozen=True, slots=True)
class _ObservedPlace:
    """Where an observed function was put."""

    owner: Any
    attribute: str
    before: object
    now: object
    observer: _NamedToolObserver


_places: dict[str, _ObservedPlace] = {}
"""Observed functions by `module:path`."""


def observe_named(name: str, module: ModuleType) -> None:
    """Observes the function `name` (`module:function`, `module:Class.method`) of this module as a tool. A second time
    changes nothing. Logs a warning if that is not possible. May raise what setting the attribute raises."""
    if name in _places:
        return
    path = name.partition(":")[2]
    class_name, _, attribute = path.rpartition(".")
    owner = _owner(module, class_name)
    function = None if owner is None else attributes_of(owner).get(attribute)
    reason = _why_not(function, owner, attribute, class_name or module.__name__)
    if reason is not None:
        log.warning("%s is not recorded as a tool: %s", name, reason)
        return
    observer = _NamedToolObserver(path)
    now: Any = observed(cast("Callable[..., Any]", function), observer)
    setattr(owner, attribute, now)
    _places[name] = _ObservedPlace(owner, attribute, function, now, observer)
    if not class_name:
        _warn_of_importers(name, attribute, function, module)


def stop_observing(name: str) -> None:
    """Undoes `observe_named`. Where the program keeps the observed function, that only passes calls through."""
    place = _places.pop(name, None)
    if place is not None:
        place.observer.is_on = False
        if attributes_of(place.owner).get(place.attribute) is place.now:
            setattr(place.owner, place.attribute, place.before)


def _owner(module: ModuleType, class_name: str) -> Any:
    """Returns the module, or the class of this dotted name in it; None if there is none."""
    owner: Any = module
    for part in class_name.split(".") if class_name else ():
        owner = attributes_of(owner).get(part)
        if not isinstance(owner, type):
            return None
    return owner


def _why_not(function: object, owner: Any, attribute: str, where: str) -> str | None:
    """Returns why the function cannot be recorded as a tool; None: it can be."""
    if owner is None:
        return f"there is no class {where} in that module"
    if function is None:
        definer = _definer(owner, attribute)
        if definer is not None:
            named = f"{definer.__module__}:{definer.__qualname__}.{attribute}"
            return f"{where} inherits it; name the class that defines it: {named}"
        return f"{where} has no {attribute}; compare the name with the source of the installed version"
    if isinstance(function, type):
        return "it is a class; name one of its methods: module:Class.method"
    if not _is_function(function):
        kind = type(function).__name__
        return f"it is a {kind} and no function; name the plain function that it calls"
    if is_observed(function):
        return "it is under @observe, whose own options count"
    inner = innermost(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        return "it is a generator; name a function that returns its result, or put @observe(kind='tool') on this one"
    return None


def _definer(owner: Any, attribute: str) -> type[Any] | None:
    bases = owner.__mro__[1:] if isinstance(owner, type) else ()
    return next((base for base in bases if attribute in vars(base)), None)


def _is_function(value: object) -> bool:
    """Whether it is a function or a method, also below decorators that return an object with `__wrapped__`."""
    if isinstance(value, _FUNCTIONS):
        return True
    is_method_descriptor = inspect.ismethoddescriptor(value)
    return callable(value) and (is_method_descriptor or callable(getattr(value, "__wrapped__", None)))


def _warn_of_importers(name: str, attribute: str, function: object, home: ModuleType) -> None:
    """Logs which modules hold the unobserved function under a name of their own."""
    holders = sorted(_holders(function, home))
    if holders:
        more = f" and {len(holders) - _MAX_NAMED_IMPORTERS} more" if len(holders) > _MAX_NAMED_IMPORTERS else ""
        log.warning(
            "%s was imported (from %s import %s) before it was to be recorded as a tool, by %s%s: calls from there are "
            "not recorded; start the program with playhead run --tool %s, or call playhead.instrument(%r) first",
            name,
            home.__name__,
            attribute,
            ", ".join(holders[:_MAX_NAMED_IMPORTERS]),
            more,
            name,
            name,
        )


def _holders(function: object, home: ModuleType) -> Iterator[str]:
    for module_name, module in list(sys.modules.items()):
        # A module of another class may run code of its own where its attributes are read.
        if type(module) is not ModuleType or module is home:
            continue
        if any(value is function for value in list(attributes_of(module).values())):  # a copy: threads may be importing
            yield module_name
