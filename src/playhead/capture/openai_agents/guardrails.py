"""Guardrails of OpenAI Agents (of an agent's input and output, of a tool's), and tool calls that wait for a person.

A guardrail whose tripwire was triggered has the outcome `tripped`; what it found is its output.
"""

from collections.abc import Awaitable
from typing import Any, cast

from playhead.api.calls.lifecycle import enter, fail_and_detach, finish
from playhead.api.calls.span import ObservedSpan
from playhead.api.scope import log_event_of
from playhead.capture.frameworks import Begin, guardrail, is_inside_run, is_observed, none_on_error, recorded_result
from playhead.capture.patching import Wrap
from playhead.model import names
from playhead.model.canonical import parse_json


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
    """Whether an agent's guardrail was triggered, or a tool's one does not let the call pass."""
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


# --- tool calls that wait for a person --------------------------------------------------------------------------------


@none_on_error
def note_interruptions(span: ObservedSpan, result: Any) -> None:
    """Says in the agent's call which tool calls wait for approval when it ends."""
    for item in cast("list[Any]", getattr(result, "interruptions", None) or []):
        about = {names.WAIT_ID: _call_id(item), names.TOOL_NAME: str(item.tool_name)}
        arguments = _of(item.raw_item, "arguments")
        given = parse_json(arguments) if isinstance(arguments, str) else arguments
        log_event_of(span, names.APPROVAL_REQUESTED, about, {names.TOOL_ARGUMENTS_REF: given})


@none_on_error
def note_decisions(span: ObservedSpan, state: Any) -> None:
    """Says in the agent's call what a person has decided, for a run that goes on from the state of one that waited."""
    if not hasattr(state, "get_interruptions"):
        return
    for item in state.get_interruptions():
        decision = state._context.is_tool_approved(item.tool_name, _call_id(item))
        if decision is not None:
            said = {names.WAIT_ID: _call_id(item), names.APPROVED: decision is True}
            log_event_of(span, names.APPROVAL_RECEIVED, said, {})


def _call_id(item: Any) -> str:
    return str(_of(item.raw_item, "call_id") or _of(item.raw_item, "id"))


def _of(raw: Any, name: str) -> Any:
    return cast("dict[str, Any]", raw).get(name) if isinstance(raw, dict) else getattr(raw, name, None)
