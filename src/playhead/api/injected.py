"""What agent frameworks hand to a tool beside what the model asked for: their own contexts, states and stores.

They are no arguments of the tool: they hold ids, times and the whole history, which differ in every attempt and belong
to the model's calls.  They are neither recorded nor compared; the id of the model's tool call is taken from them.
A framework finds the parameters by their annotations, and so does this.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

from playhead.api.guard import swallowed

# Names of the frameworks' classes; only those of these packages are meant.
_PACKAGES = frozenset({"agents", "langchain", "langchain_core", "langgraph", "pydantic_ai"})
_CLASSES = frozenset(
    [
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
# In the text of an annotation that is worth to be read.
_PROMISING = (*_CLASSES, "Injected")


def injected_parameters(function: Callable[..., Any]) -> frozenset[str]:
    """Names of the parameters that a framework fills in."""
    try:
        function = inspect.unwrap(function)
        written = cast("dict[str, Any]", getattr(function, "__annotations__", None) or {})
        return frozenset(name for name, annotation in written.items() if _is_injected(_read(annotation, function)))
    except Exception as error:  # noqa: BLE001 - the guard: annotations may be any code
        swallowed("read the annotations of a tool", error)
        return frozenset()


def separated(arguments: dict[str, Any], injected: frozenset[str]) -> tuple[dict[str, Any], str | None]:
    """The arguments that the model gave, and the id of its tool call if what was injected says it."""
    own: dict[str, Any] = {}
    call_id: str | None = None
    for name, value in arguments.items():
        if name not in injected:
            own[name] = value
        elif isinstance(found := value if isinstance(value, str) else getattr(value, "tool_call_id", None), str):
            call_id = found
    return own, call_id


def _read(annotation: Any, function: Any) -> Any:
    """What an annotation that is text stands for; None when that is not known here (yet)."""
    if not isinstance(annotation, str):
        return annotation
    if not any(name in annotation for name in _PROMISING):
        return None
    try:
        return eval(annotation, getattr(function, "__globals__", {}))  # noqa: S307 - as `typing.get_type_hints` does
    except Exception:  # noqa: BLE001 - a name of a scope that is gone, or that comes later
        return None


def _is_injected(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    around = (annotation, origin, *getattr(annotation, "__metadata__", ()))
    return any(map(_is_frameworks, around)) or (
        origin is not None and any(map(_is_injected, typing.get_args(annotation)))
    )


def _is_frameworks(value: Any) -> bool:
    kind: Any = value if isinstance(value, type) else cast(Any, type(value))
    names: Mapping[str, str] = {above.__name__: above.__module__ for above in kind.__mro__}
    return any(names[name].partition(".")[0] in _PACKAGES for name in _CLASSES & names.keys())
