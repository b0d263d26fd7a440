"""Parameters that a framework fills in (contexts, states, stores, dependencies, headers), as opposed to the caller's
arguments.

Values from an agent framework hold ids, times and the whole history, which differ in every attempt. They are neither
recorded nor compared; only the id of the model's tool call is read from them. Of a web framework's values, dependencies
are recorded by their type, headers and cookies under their names. As in the frameworks, annotations (and, for web
frameworks, defaults) tell which parameters these are.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

from playhead.kernel.guard import guarded
from playhead.model.objects.infrastructure import name_of_type
from playhead.model.objects.masking import KeyedValue

# A class is injected if its name is in `_CLASSES` and its package in `_PACKAGES`.
_PACKAGES = frozenset({"agents", "langchain", "langchain_core", "langgraph", "playhead", "pydantic_ai"})
_CLASSES = frozenset(
    [
        "AgentContext",
        "BaseStore",
        "InjectedToolArg",
        "RunContext",
        "RunContextWrapper",
        "RunnableConfig",
        "Runtime",
        "ToolContext",
        "ToolRuntime",
        "CallbackManagerForToolRun",
        "AsyncCallbackManagerForToolRun",
    ]
)
# Markers of web frameworks in a default or an annotation: the value is made for the request, or taken from it.
_WEB_PACKAGES = frozenset({"fastapi", "fast_depends", "faststream", "taskiq_dependencies"})
_DEPENDENCIES = frozenset({"Depends", "Dependant", "Security"})
_FROM_REQUEST = frozenset({"Header", "Cookie"})
# An annotation that is a string is only evaluated if it contains one of these.
_NAMES_WORTH_READING = (*_CLASSES, "Injected", *_DEPENDENCIES, *_FROM_REQUEST)
_PLAIN_TYPES = (bool, int, float, type(None))


def injected_parameters(function: Callable[..., Any]) -> frozenset[str]:
    """Returns the names of the parameters that an agent framework fills in."""
    with guarded("read the annotations of a tool"):  # annotations may be any code
        function = inspect.unwrap(function)
        written = cast("dict[str, Any]", getattr(function, "__annotations__", None) or {})
        return frozenset(name for name, annotation in written.items() if _is_injected(_read(annotation, function)))
    return frozenset()


def without_injected(arguments: dict[str, Any], injected: frozenset[str]) -> tuple[dict[str, Any], str | None]:
    """Returns the caller's arguments without the injected ones, and the id of the model's tool call if an injected
    argument has it."""
    caller_arguments: dict[str, Any] = {}
    call_id: str | None = None
    for name, value in arguments.items():
        if name not in injected:
            caller_arguments[name] = value
        elif isinstance(candidate := value if isinstance(value, str) else getattr(value, "tool_call_id", None), str):
            call_id = candidate
    return caller_arguments, call_id


def request_parameters(function: Callable[..., Any]) -> dict[str, str | None]:
    """Returns the parameters that a web framework fills in: name → header name, `cookie`, or None for a dependency."""
    with guarded("read the parameters of a tool", log=False):  # no signature, or annotations that are any code
        filled_in: dict[str, str | None] = {}
        function = inspect.unwrap(getattr(function, "__func__", function))
        for name, parameter in inspect.signature(function).parameters.items():
            annotation = _read(parameter.annotation, function)
            for marker in (parameter.default, *getattr(annotation, "__metadata__", ())):
                kinds = {above.__name__ for above in type(marker).__mro__ if _package(above) in _WEB_PACKAGES}
                if kinds & _DEPENDENCIES:
                    filled_in[name] = None
                elif "Cookie" in kinds:
                    filled_in[name] = "cookie"  # all cookies: the name does not tell which one holds a session
                elif "Header" in kinds:
                    filled_in[name] = str(getattr(marker, "alias", None) or name)
        return filled_in
    return {}


def describe_filled_in(arguments: dict[str, Any], filled_in: dict[str, str | None]) -> dict[str, Any]:
    """Returns the arguments with dependencies replaced by their type names, and headers and cookies under names that
    can be masked."""
    changed: dict[str, Any] = {}
    for name in filled_in.keys() & arguments.keys():
        value, key = arguments[name], filled_in[name]
        if key is not None:
            changed[name] = KeyedValue(key, value)
        elif not issubclass(type(value), _PLAIN_TYPES):
            changed[name] = {"$type": name_of_type(cast(Any, type(value)))}
    return {**arguments, **changed} if changed else arguments


def _package(kind: object) -> str:
    return str(kind.__module__).partition(".")[0]


def _read(annotation: object, function: object) -> Any:
    """Returns the annotation, evaluated if it is a string; None if the string holds none of our names, or its names are
    not defined (yet)."""
    if not isinstance(annotation, str):
        return annotation
    if not any(name in annotation for name in _NAMES_WORTH_READING):
        return None
    with guarded("read an annotation", log=False):  # it may have a name of a scope that is gone, or that comes later
        return eval(annotation, getattr(function, "__globals__", {}))  # noqa: S307 - as `typing.get_type_hints` does
    return None


def _is_injected(annotation: object) -> bool:
    origin = typing.get_origin(annotation)
    around = (annotation, origin, *getattr(annotation, "__metadata__", ()))
    return any(map(_is_framework_object, around)) or (
        origin is not None and any(map(_is_injected, typing.get_args(annotation)))
    )


def _is_framework_object(value: object) -> bool:
    kind: Any = value if isinstance(value, type) else cast(Any, type(value))
    names: Mapping[str, str] = {above.__name__: above.__module__ for above in kind.__mro__}
    return any(names[name].partition(".")[0] in _PACKAGES for name in _CLASSES & names.keys())
