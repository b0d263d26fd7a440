"""Records the functions that the client calls for the model (automatic function calling): each call is a tool call.

MCP tools are called in another way, and recorded by the instrumentation of `mcp`.
"""

from collections.abc import Callable
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
from playhead.model import names


@none_on_error
def _begin(instance: Any, args: Any, kwargs: Any) -> Begin | None:
    parameters = {**dict(zip(("args", "function_to_invoke"), args, strict=False)), **kwargs}
    function = cast("Callable[..., Any]", parameters["function_to_invoke"])
    if not is_inside_run() or is_observed(function):
        return None
    return tool(function.__name__, dict(parameters["args"]), None)


def invoke(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps `invoke_function_from_dict_args`."""
    begin = _begin(instance, args, kwargs)
    return wrapped(*args, **kwargs) if begin is None else call(begin, names.TOOL_RESULT_REF, wrapped, args, kwargs)


invoke_async = recorded_result(_begin, partial(call_async, output=names.TOOL_RESULT_REF))
"""Wraps `invoke_function_from_dict_args_async`."""
