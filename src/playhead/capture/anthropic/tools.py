"""Records function tools (`@beta_tool`), called by the tool runner or by the program."""

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
    if not is_inside_run() or is_observed(instance.func):
        return None
    tool_input = args[0] if args else kwargs.get("input")
    arguments = cast("dict[str, Any]", tool_input) if isinstance(tool_input, dict) else {"input": tool_input}
    return tool(instance.name, arguments, None)


def call_tool(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps `BetaFunctionTool.call`.  The tool call gets the id of the model's request for it."""
    begin = _begin(instance, args, kwargs)
    return wrapped(*args, **kwargs) if begin is None else call(begin, names.TOOL_RESULT_REF, wrapped, args, kwargs)


call_tool_async = recorded_result(_begin, partial(call_async, output=names.TOOL_RESULT_REF))
