"""Strands: its agents, also those that are tools of another one, and its tools.  Models run on instrumented clients.

Since 1.62, one function runs every tool.  Before, the executor calls what each class of tools implements.
"""

import json
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Protocol, TypedDict

from playhead.calls.functions import NO_RESULT, EventStreamReader, iterate_async
from playhead.calls.lifecycle import current_span, note_error
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
    StartSpan,
    agent,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    record_returned,
    tool,
)
from playhead.capture.patching import Instrumentation, Wrap, WrapSubclasses
from playhead.capture.wrapping import MethodCall
from playhead.model import names
from playhead.model.json_value import Json, JsonValue, list_at, object_of
from playhead.model.span import STATUS_ERROR

SUPPORTS = "strands-agents >= 1.0"

_EXECUTOR, _RUN_TOOL = "strands.tools.executors._executor", "_run_tool"


class _RequestedTool(TypedDict):
    """The model's request."""

    toolUseId: str
    name: str
    input: Json


class _StrandsToolContext(Protocol):
    tool: object
    tool_use: _RequestedTool


_StartedTool = tuple[StartSpan, _RequestedTool]


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan:
    running: Named = called.client
    return agent(str(running.name or "agent"), called.argument(0, "prompt"))


@log_errors_and_return_none
def _answer(event: Mapping[str, object]) -> object:
    result = event.get("result")
    message: object = getattr(result, "message", None)
    if message is None:
        return None
    structured: object = getattr(result, "structured_output", None)
    return _content(object_of(message)) if structured is None else structured


def _agent_result(_: ObservedSpan, event: Mapping[str, object]) -> object:
    answer = _answer(event)
    return NO_RESULT if answer is None else answer


def _content(result: Json) -> JsonValue:
    """Returns the content of a message or of a tool's result: the text if it is one text, else the blocks."""
    match list_at(result, "content"):
        case [{"text": text, **more}] if not more:
            return text
        case blocks:
            return blocks


_AGENT = EventStreamReader(_agent_result, lambda _: [])  # an agent is never answered from the record: its calls are


def _stream_agent(begin: StartSpan, events: AsyncGenerator[object, object]) -> object:
    return iterate_async(begin, names.OUTPUT_REF, events, _AGENT)


@log_errors_and_return_none
def _tool(called: MethodCall) -> _StartedTool | None:
    context: _StrandsToolContext = called.argument(0, "ctx")
    return _begin_tool(context.tool, context.tool_use)


@log_errors_and_return_none
def _tool_before_1_62(called: MethodCall) -> _StartedTool | None:
    if hasattr(sys.modules.get(_EXECUTOR), _RUN_TOOL):
        return None
    tool_use: _RequestedTool = called.argument(0, "tool_use")
    around = current_span()
    if around is not None and around.attributes.get(names.TOOL_CALL_ID) == tool_use["toolUseId"]:
        return None  # the method of the class that it is derived from
    return _begin_tool(called.client, tool_use)


def _begin_tool(its_tool: object, tool_use: _RequestedTool) -> _StartedTool | None:
    kind = type(its_tool).__name__
    # The model's answer in the form that the program asked for: it has to be put into the agent again on resume.
    if its_tool is None or kind == "StructuredOutputTool":
        return None
    if not is_inside_run() or is_observed(getattr(its_tool, "_tool_func", None)):
        return None
    return tool(tool_use["name"], tool_use["input"], tool_use["toolUseId"], is_agent=kind == "_AgentAsTool"), tool_use


def _tool_result(span: ObservedSpan, event: object) -> object:
    answer = _tool_answer(span, event) if _is_result_event(event) or _is_plain_result(event) else None
    return NO_RESULT if answer is None else answer


def _is_result_event(event: object) -> bool:
    return type(event).__name__ == "ToolResultEvent"


def _is_plain_result(event: object) -> bool:
    """Whether the event is a plain result: the last event of tools before 1.10, and of a program's tool classes before
    1.62."""
    return {"toolUseId", "status", "content"} <= object_of(event).keys()


@log_errors_and_return_none
def _tool_answer(span: ObservedSpan, event: object) -> object:
    result = object_of(getattr(event, "tool_result", None) if _is_result_event(event) else event)
    raised: BaseException | None = getattr(event, "exception", None)
    plain = _content(result)
    if raised is not None:
        note_error(span, raised)
    elif result.get("status") == "error":
        span.attributes[names.ERROR_TYPE], span.status = "tool_error", STATUS_ERROR
        span.status_message = span.recorder.text(plain if type(plain) is str else "", span.redact)
    if result.get("status") == "success" and type(plain) is str:
        return plain
    return {name: value for name, value in result.items() if name != "toolUseId"}


def _result_event(recorded: object, call_id: str) -> object:
    """Returns the last event of a tool, for a recorded result or for one that a person set."""
    fields = object_of(recorded)
    if "content" not in fields:
        text = recorded if isinstance(recorded, str) else json.dumps(recorded, ensure_ascii=False)
        fields = {"status": "success", "content": [{"text": text}]}
    result = {"status": "success", **fields, "toolUseId": call_id}
    event_type = getattr(sys.modules.get("strands.types._events"), "ToolResultEvent", None)  # since 1.10
    return result if event_type is None else event_type(result)


def _stream_tool(started: _StartedTool, events: AsyncGenerator[object, object]) -> AsyncGenerator[object, object]:
    begin, tool_use = started
    reader = EventStreamReader(_tool_result, lambda recorded: [_result_event(recorded, str(tool_use["toolUseId"]))])
    return iterate_async(begin, names.TOOL_RESULT_REF, events, reader)


def _stream_tool_before_1_62(started: _StartedTool, events: AsyncGenerator[object, object]) -> object:
    return _ended_with_result(_stream_tool(started, events))


async def _ended_with_result(events: AsyncGenerator[object, object]) -> AsyncGenerator[object, object]:
    """Yields the events.  Ends the call before yielding the event with the result: the executor reads no further."""
    try:
        async for event in events:
            if _is_result_event(event):
                await anext(events, None)
            yield event
    finally:
        await events.aclose()


_strands = Instrumentation(
    [
        Wrap("strands.agent.agent", "Agent.stream_async", record_returned(_agent, _stream_agent)),
        Wrap(_EXECUTOR, _RUN_TOOL, record_returned(_tool, _stream_tool), is_optional=True),
        WrapSubclasses(
            "strands.types.tools",
            "AgentTool",
            {"stream": record_returned(_tool_before_1_62, _stream_tool_before_1_62)},
        ),
    ]
)
patch, unpatch = _strands.patch, _strands.unpatch
