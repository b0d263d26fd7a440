"""AutoGen's AgentChat: agents and teams, run alone, in a team or by a tool; handoffs between them; tools.

Models run on clients that are recorded themselves, such as `openai`; tools of MCP servers are the calls of `mcp`.
"""

import copy
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from playhead.api import scope
from playhead.calls import functions
from playhead.calls.lifecycle import current_span, finish, set_payload
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
    StartSpan,
    agent,
    answered_wrappers,
    begun,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    record_returned,
    tool,
    with_span_async,
)
from playhead.capture.patching import Instrumentation, Wrap, WrapSubclasses
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import list_of

SUPPORTS = "autogen-agentchat >= 0.7"


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan | None:
    """Returns None if another method of the same agent calls this one: the outer call is recorded already."""
    running: Named = called.client
    name, outer = str(running.name), current_span()
    if outer is not None and outer.kind == "agent" and outer.attributes.get(names.AGENT_NAME) == name:
        return None
    task: object = called.args[0] if called.args else called.kwargs.get("task", called.kwargs.get("messages"))
    messages = list_of(task)
    return agent(name, [_text(item) for item in messages] if isinstance(task, list) else _text(task))


def _text(message: object) -> object:
    """Returns a message's text; any other value unchanged."""
    to_text = getattr(message, "to_text", None)
    return message if to_text is None else to_text()


@log_errors_and_return_none
def _answer(result: object) -> object:
    """Returns the last message of an agent's or a team's result; None if `result` is not one."""
    if hasattr(result, "chat_message"):
        return getattr(result, "chat_message", None)
    messages = getattr(result, "messages", None) if hasattr(result, "stop_reason") else None
    return messages[-1] if messages else None


def _end_run(span: ObservedSpan, result: object, _: MethodCall) -> None:
    answer = _answer(result)
    finish(span, names.OUTPUT_REF if answer is not None else None, log_errors_and_return_none(_text)(answer))


def _streamed(begin: StartSpan, made: AsyncGenerator[object, object]) -> object:
    return functions.iterate_async(begin, None, _with_output(made)) if hasattr(made, "asend") else made


async def _with_output(steps: AsyncGenerator[object, object]) -> AsyncGenerator[object, object]:
    """Yields the items of an agent's stream, and records its answer."""
    try:
        async for step in steps:
            _note_output(step)
            yield step
    finally:
        await steps.aclose()


@log_errors_and_return_none
def _note_output(step: object) -> None:
    span, answer = current_span(), _answer(step)
    if span is None or answer is None:
        return
    set_payload(span, names.OUTPUT_REF, _text(answer))
    if type(answer).__name__ == "HandoffMessage" and hasattr(step, "chat_message"):
        scope.handoff(str(getattr(answer, "target", "")))


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    its_tool: Named = called.client
    if not is_inside_run() or is_observed(getattr(its_tool, "_func", None)):
        return None
    arguments: Mapping[str, object] = called.argument(0, "args")
    # Only a tool that runs an agent or a team has a `_task_runner`.
    is_agent = hasattr(its_tool, "_task_runner")
    return tool(its_tool.name, dict(arguments), called.argument(2, "call_id"), is_agent=is_agent)


def _fit_of(called: MethodCall) -> functions.Fit:
    return partial(_as_task_result, called.client)


def _as_task_result(its_tool: Named, value: object) -> object:
    """Converts a text to the TaskResult of a tool that runs an agent or a team; any other value is unchanged. A fork
    may set such a text as the tool's result."""
    if not isinstance(value, str) or not hasattr(its_tool, "_task_runner"):
        return value
    make_message: Callable[..., object] = import_module("autogen_agentchat.messages").TextMessage
    make_result: Callable[..., object] = import_module("autogen_agentchat.base").TaskResult
    return make_result(messages=[make_message(content=value, source=str(its_tool.name))])


_, _call_tool = answered_wrappers(_tool, fit=_fit_of)


@intercepted
def _stream_tool(function: Callable[..., AsyncGenerator[object, object]], called: MethodCall) -> object:
    begin, made = _tool(called), called.make(function)
    if begin is None:
        return made
    return functions.iterate_async(begin, names.TOOL_RESULT_REF, made, fit=_fit_of(called))


@intercepted
def _run_function(function: Callable[..., object], called: MethodCall) -> object:
    """Passes the current run on to the thread in which AutoGen calls a plain function."""
    return called.make(_with_run(function, called.client) or function)


@log_errors_and_return_none
def _with_run(method: Any, its_tool: Any) -> Callable[..., object] | None:
    if not is_inside_run() or inspect.iscoroutinefunction(its_tool._func):
        return None
    other = copy.copy(its_tool)
    other._func = scope.propagate_to_thread(its_tool._func)
    return partial(method.__func__, other)


_run = with_span_async(begun(_agent), _end_run)
_run_stream = record_returned(_agent, _streamed)

_AGENTS = "autogen_agentchat.agents._base_chat_agent"
_TEAMS = "autogen_agentchat.teams._group_chat._base_group_chat"
_autogen = Instrumentation(
    [
        Wrap(_AGENTS, "BaseChatAgent.run", _run),
        Wrap(_AGENTS, "BaseChatAgent.run_stream", _run_stream),
        WrapSubclasses(_AGENTS, "BaseChatAgent", {"on_messages_stream": _run_stream}),  # which teams call
        Wrap(_TEAMS, "BaseGroupChat.run", _run),
        Wrap(_TEAMS, "BaseGroupChat.run_stream", _run_stream),
        Wrap("autogen_core.tools._base", "BaseTool.run_json", _call_tool),
        Wrap("autogen_core.tools._base", "BaseStreamTool.run_json_stream", _stream_tool, is_optional=True),
        Wrap("autogen_core.tools._function_tool", "FunctionTool.run", _run_function, is_optional=True),
    ]
)
patch, unpatch = _autogen.patch, _autogen.unpatch
