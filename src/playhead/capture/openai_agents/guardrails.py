"""Guardrails of OpenAI Agents: of an agent's input and output, and of a tool's.

A guardrail whose tripwire was triggered has the outcome `tripped`. Its `output_info` is the span's output.
"""

from collections.abc import Awaitable
from typing import Any, cast

from playhead.calls.lifecycle import enter, fail_and_detach, finish
from playhead.capture.frameworks import Begin, guardrail, is_inside_run, is_observed, none_on_error, recorded_result
from playhead.capture.patching import Wrap
from playhead.model import names


@none_on_error
def _begin(instance: Any, args: Any, kwargs: Any) -> Begin | None:
    if not is_inside_run() or is_observed(instance.guardrail_function):
        return None
    if "data" in kwargs or len(args) == 1:  # of a tool
        data = kwargs.get("data", args[0] if args else None)
        checked = {"tool": data.context.tool_name, "arguments": data.context.tool_arguments}
        if hasattr(data, "output"):
            checked["output"] = data.output
    elif "agent_output" in kwargs or type(instance).__name__ == "OutputGuardrail":
        checked = {"output": kwargs.get("agent_output", args[2] if len(args) > 2 else None)}
    else:
        checked = {"input": kwargs.get("input", args[1] if len(args) > 1 else None)}
    return guardrail(str(instance.get_name()), checked)


async def _recorded(begin: Begin, made: Awaitable[Any]) -> Any:
    span = begin()
    if span is None:
        return await made
    enter(span)
    try:
        result = await made
    except BaseException as error:
        fail_and_detach(span, error)
        raise
    if _is_tripped(result):
        span.attributes[names.OUTCOME] = names.TRIPPED
    finish(span, names.OUTPUT_REF, _found(result))
    return result


@none_on_error
def _is_tripped(result: Any) -> bool:
    """Whether an agent's guardrail was triggered, or a tool's guardrail does not let the call pass."""
    behavior: Any = getattr(result, "behavior", None)
    if isinstance(behavior, dict):
        return cast("dict[str, Any]", behavior).get("type") != "allow"
    return result.output.tripwire_triggered is True


@none_on_error
def _found(result: Any) -> Any:
    return getattr(result, "output", result).output_info


_run = recorded_result(_begin, _recorded)
GUARDRAILS = (
    *(Wrap("agents.guardrail", f"{kind}.run", _run) for kind in ("InputGuardrail", "OutputGuardrail")),
    *(
        Wrap("agents.tool_guardrails", f"{kind}.run", _run, is_optional=True)
        for kind in ("ToolInputGuardrail", "ToolOutputGuardrail")
    ),
)
