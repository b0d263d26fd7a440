"""AutoGen's AgentChat: agents and teams, run alone, in a team or by a tool; handoffs between them; tools.

Models run on clients that are recorded themselves, such as `openai`; tools of MCP servers are the calls of `mcp`.
"""

import copy
import inspect
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, cast

from playhead.api import scope
from playhead.calls import functions
from playhead.calls.lifecycle import current_span, finish, set_payload
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    answered_wrappers,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    record_returned,
    tool,
    with_span_async,
)
from playhead.capture.patching import Instrumentation, Wrap, WrapSubclasses
from playhead.model import names

SUPPORTS = "autogen-agentchat >= 0.7"


@log_errors_and_return_none
def _agent(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Returns None if another method of the same agent calls this one: the outer call is recorded already."""
    name, outer = str(instance.name), current_span()
    if outer is not None and outer.kind == "agent" and outer.attributes.get(names.AGENT_NAME) == name:
        return None
    task = args[0] if args else kwargs.get("task", kwargs.get("messages"))
    return agent(name, [_text(item) for item in cast("list[Any]", task)] if isinstance(task, list) else _text(task))


def _text(message: Any) -> Any:
    """Returns a message's text; any other value unchanged."""
    return message.to_text() if hasattr(message, "to_text") else message


@log_errors_and_return_none
def _answer(result: Any) -> Any:
    """Returns the last message of an agent's or a team's result; None if `result` is not one."""
    if hasattr(result, "chat_message"):
        return result.chat_message
    return result.messages[-1] if hasattr(result, "stop_reason") and result.messages else None


def _begin_run(instance: Any, args: Any, kwargs: Any) -> ObservedSpan | None:
    begin = _agent(instance, args, kwargs)
    return None if begin is None else begin()


def _end_run(span: ObservedSpan, result: Any, _args: Any, _kwargs: Any) -> None:
    answer = _answer(result)
    finish(span, names.OUTPUT_REF if answer is not None else None, log_errors_and_return_none(_text)(answer))


def _streamed(begin: StartSpan, made: Any) -> Any:
    return functions.iterate_async(begin, None, _with_output(made)) if hasattr(made, "asend") else made


async def _with_output(steps: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """Yields the items of an agent's stream, and records its answer."""
    try:
        async for step in steps:
            _note_output(step)
            yield step
    finally:
        await steps.aclose()


@log_errors_and_return_none
def _note_output(step: Any) -> None:
    span, answer = current_span(), _answer(step)
    if span is None or answer is None:
        return
    set_payload(span, names.OUTPUT_REF, _text(answer))
    if type(answer).__name__ == "HandoffMessage" and hasattr(step, "chat_message"):
        scope.handoff(answer.target)


@log_errors_and_return_none
def _tool(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    if not is_inside_run() or is_observed(getattr(instance, "_func", None)):
        return None
    parameters = {**dict(zip(("args", "cancellation_token", "call_id"), args, strict=False)), **kwargs}
    # Only a tool that runs an agent or a team has a `_task_runner`.
    return tool(
        instance.name, dict(parameters["args"]), parameters.get("call_id"), is_agent=hasattr(instance, "_task_runner")
    )


def _fit_of(instance: Any, _kwargs: Any) -> Callable[[Any], Any]:
    return partial(_as_task_result, instance)


def _as_task_result(instance: Any, value: Any) -> Any:
    """Converts a text to the TaskResult of a tool that runs an agent or a team; any other value is unchanged. A fork
    may set such a text as the tool's result."""
    if not isinstance(value, str) or not hasattr(instance, "_task_runner"):
        return value
    from autogen_agentchat.base import TaskResult  # noqa: PLC0415 # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    from autogen_agentchat.messages import TextMessage  # noqa: PLC0415 # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    message = cast(Any, TextMessage)(content=value, source=str(instance.name))
    return cast(Any, TaskResult)(messages=[message])


_, _call_tool = answered_wrappers(_tool, fit=_fit_of)


def _stream_tool(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin, made = _tool(instance, args, kwargs), wrapped(*args, **kwargs)
    if begin is None:
        return made
    return functions.iterate_async(begin, names.TOOL_RESULT_REF, made, fit=_fit_of(instance, kwargs))


def _run_function(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Passes the current run on to the thread in which AutoGen calls a plain function."""
    bound = _with_run(wrapped, instance)
    return wrapped(*args, **kwargs) if bound is None else bound(*args, **kwargs)


@log_errors_and_return_none
def _with_run(wrapped: Any, instance: Any) -> Callable[..., Any] | None:
    if not is_inside_run() or inspect.iscoroutinefunction(instance._func):
        return None
    other = copy.copy(instance)
    other._func = scope.propagate_to_thread(instance._func)
    return partial(wrapped.__func__, other)


_run = with_span_async(_begin_run, _end_run)
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
