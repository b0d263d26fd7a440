"""LangChain's tools, wherever they run: in LangGraph, in its agents, or by hand."""

from typing import Any, cast

from playhead.capture.frameworks import (
    Begin,
    Framework,
    call,
    call_async,
    is_inside_run,
    is_observed,
    none_on_error,
    tool,
    wrap,
)
from playhead.model import names

SUPPORTS = "langchain-core >= 1.0"


def _patch(module: Any) -> None:
    wrap(module.BaseTool, "run", _run)
    wrap(module.BaseTool, "arun", _arun)


_langchain = Framework({"langchain_core.tools.base": _patch})
patch, unpatch = _langchain.patch, _langchain.unpatch


def _run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _begin(instance, args, kwargs)
    return wrapped(*args, **kwargs) if begin is None else call(begin, names.TOOL_RESULT_REF, wrapped, args, kwargs)


def _arun(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _begin(instance, args, kwargs)
    made = wrapped(*args, **kwargs)
    return made if begin is None else call_async(begin, names.TOOL_RESULT_REF, made)


@none_on_error
def _begin(instance: Any, args: Any, kwargs: Any) -> Begin | None:
    if not _langchain.on or not is_inside_run():
        return None
    kind = cast(Any, type(instance))
    functions = (getattr(instance, "func", None), getattr(instance, "coroutine", None), kind._run, kind._arun)
    if any(map(is_observed, functions)):
        return None
    given = args[0] if args else kwargs.get("tool_input")
    arguments = instance._filter_injected_args(given) if isinstance(given, dict) else {"input": given}
    return tool(instance.name, arguments, kwargs.get("tool_call_id"))
