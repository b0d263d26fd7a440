"""Strands: its agents, also those that are tools of another one, and its tools.  Models run on instrumented clients."""

import json
from typing import Any, cast

from playhead.api.calls.lifecycle import note_error
from playhead.api.calls.span import ObservedSpan
from playhead.api.functions.wrappers import NO_RESULT, EventReader, iterate_async
from playhead.capture.frameworks import (
    Begin,
    agent,
    is_inside_run,
    is_observed,
    none_on_error,
    recorded_result,
    tool,
)
from playhead.capture.patching import Instrumentation, Wrap
from playhead.model import names

SUPPORTS = "strands-agents >= 1.62"


@none_on_error
def _agent(instance: Any, args: Any, kwargs: Any) -> Begin:
    prompt = args[0] if args else kwargs.get("prompt")
    return agent(str(instance.name or "agent"), prompt)


@none_on_error
def _answer(event: Any) -> Any:
    found = cast("dict[str, Any]", event).get("result")
    message = getattr(found, "message", None)
    if message is None:
        return None
    structured = getattr(found, "structured_output", None)
    return _content(cast("dict[str, Any]", message)) if structured is None else structured


def _agent_result(_: ObservedSpan, event: Any) -> Any:
    answer = _answer(event)
    return NO_RESULT if answer is None else answer


def _content(result: dict[str, Any]) -> Any:
    """The text of a message or of a tool's result; its blocks, if it has others than one text."""
    blocks: Any = result.get("content") or []
    is_text = len(blocks) == 1 and set(blocks[0]) == {"text"}
    return blocks[0]["text"] if is_text else blocks


_AGENT = EventReader(_agent_result, lambda _: [])  # an agent is never answered from the record: its calls are


def _stream_agent(begin: Begin, events: Any) -> Any:
    return iterate_async(begin, names.OUTPUT_REF, events, _AGENT)


@none_on_error
def _tool(_: Any, args: Any, kwargs: Any) -> "tuple[Begin, dict[str, Any]] | None":
    context = args[0] if args else kwargs["ctx"]
    called, asked = context.tool, context.tool_use
    if called is None or not is_inside_run() or is_observed(getattr(called, "_tool_func", None)):
        return None
    is_agent = type(called).__name__ == "_AgentAsTool"
    return tool(asked["name"], asked["input"], asked["toolUseId"], is_agent=is_agent), asked


def _tool_result(span: ObservedSpan, event: Any) -> Any:
    answer = _tool_answer(span, event) if type(event).__name__ == "ToolResultEvent" else None
    return NO_RESULT if answer is None else answer


@none_on_error
def _tool_answer(span: ObservedSpan, event: Any) -> Any:
    result: dict[str, Any] = event.tool_result
    raised = getattr(event, "exception", None)
    if raised is not None:
        note_error(span, raised)
    plain = _content(result)
    if result.get("status") == "success" and type(plain) is str:
        return plain
    return {name: value for name, value in result.items() if name != "toolUseId"}


def _result_event(recorded: Any, call_id: str) -> Any:
    """The event with which a tool ends: for a recorded result, or for one that a person set."""
    from strands.types._events import ToolResultEvent  # noqa: PLC0415 # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    known = cast("dict[str, Any]", recorded) if isinstance(recorded, dict) else {}
    if "content" not in known:
        text = recorded if isinstance(recorded, str) else json.dumps(recorded, ensure_ascii=False)
        known = {"status": "success", "content": [{"text": text}]}
    return cast(Any, ToolResultEvent)({"status": "success", **known, "toolUseId": call_id})


def _stream_tool(found: "tuple[Begin, dict[str, Any]]", events: Any) -> Any:
    begin, asked = found
    reader = EventReader(_tool_result, lambda recorded: [_result_event(recorded, str(asked["toolUseId"]))])
    return iterate_async(begin, names.TOOL_RESULT_REF, events, reader)


_strands = Instrumentation(
    [
        Wrap("strands.agent.agent", "Agent.stream_async", recorded_result(_agent, _stream_agent)),
        Wrap("strands.tools.executors._executor", "_run_tool", recorded_result(_tool, _stream_tool)),
    ]
)
patch, unpatch = _strands.patch, _strands.unpatch
