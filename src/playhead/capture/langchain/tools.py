"""LangChain's tools."""

from functools import partial
from typing import Any, cast

from playhead.capture.frameworks import (
    Begin,
    call,
    call_async,
    is_inside_run,
    is_observed,
    none_on_error,
    recorded_result,
    tool,
)
from playhead.capture.patching import Wrap
from playhead.model import names


@none_on_error
def _begin(instance: Any, args: Any, kwargs: Any) -> Begin | None:
    if not is_inside_run():
        return None
    kind = cast(Any, type(instance))
    functions = (getattr(instance, "func", None), getattr(instance, "coroutine", None), kind._run, kind._arun)
    if any(map(is_observed, functions)):
        return None
    given = args[0] if args else kwargs.get("tool_input")
    own = cast("dict[str, Any]", given) if isinstance(given, dict) else None
    arguments: dict[str, Any] = {"input": given} if own is None else _without_injected(instance, own)
    return tool(instance.name, arguments, kwargs.get("tool_call_id"))


def _without_injected(instance: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the model gave, without state, stores and contexts that the framework adds."""
    own_filter = getattr(instance, "_filter_injected_args", None)  # since langchain-core 1.1
    if own_filter is not None:
        return own_filter(arguments)
    schema: Any = instance.tool_call_schema
    schema: Any = instance.tool_call_schema
    known: Any = schema.model_fields if hasattr(schema, "model_fields") else schema.get("properties", {})
    return {name: value for name, value in arguments.items() if name in known}


def _run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _begin(instance, args, kwargs)
    return wrapped(*args, **kwargs) if begin is None else call(begin, names.TOOL_RESULT_REF, wrapped, args, kwargs)


_arun = recorded_result(_begin, partial(call_async, output=names.TOOL_RESULT_REF))

_MODULE = "langchain_core.tools.base"
TOOLS = (Wrap(_MODULE, "BaseTool.run", _run), Wrap(_MODULE, "BaseTool.arun", _arun))
