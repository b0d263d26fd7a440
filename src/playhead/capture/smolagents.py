"""smolagents: its agents, also those that another agent calls like tools, and its tools, called by a `ToolCallingAgent`
or by the code that a `CodeAgent` runs.

Models run on clients that are recorded themselves: `openai`, `litellm`, `botocore`.
"""

import contextvars
import sys
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, cast
from weakref import WeakKeyDictionary

from playhead.api.scope import propagate_to_thread
from playhead.calls import functions
from playhead.calls.lifecycle import current_span, set_payload
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    arguments_by_name,
    call,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
)
from playhead.capture.patching import Instrumentation, Wrap
from playhead.errors import PlayheadError
from playhead.model import names

SUPPORTS = "smolagents >= 1.24"

_requested: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()
"""Agent → the tool calls that its model's last answer requests."""
_current: contextvars.ContextVar[tuple[str, str] | None] = contextvars.ContextVar(
    "playhead_smolagents_call", default=None
)
"""Name of the tool that an agent is about to call here, and the id of the model's request."""


@log_errors_and_return_none
def _agent(instance: Any, args: Any, kwargs: Any) -> StartSpan:
    task = args[0] if args else kwargs.get("task")
    return agent(instance.name or type(instance).__name__, task)


def _run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _agent(instance, args, kwargs)
    if begin is None:
        return wrapped(*args, **kwargs)
    if args[1] if len(args) > 1 else kwargs.get("stream"):
        return functions.iterate(begin, None, _with_output(wrapped(*args, **kwargs)))
    return call(begin, names.OUTPUT_REF, wrapped, args, kwargs)


def _with_output(steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Yields an agent's steps, and records its output, which is in the last step."""
    try:
        for step in steps:
            _note_output(step)
            yield step
    finally:
        steps.close()


@log_errors_and_return_none
def _note_output(step: Any) -> None:
    span = current_span()
    if type(step).__name__ == "FinalAnswerStep" and span is not None:
        set_payload(span, names.OUTPUT_REF, step.output)


def _process_tool_calls(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    _note_requested(instance, args, kwargs)
    return wrapped(*args, **kwargs)


@log_errors_and_return_none
def _note_requested(instance: Any, args: Any, kwargs: Any) -> None:
    message = args[0] if args else kwargs["chat_message"]
    _requested[instance] = list(cast("Iterable[Any]", message.tool_calls))


@log_errors_and_return_none
def _read_call(instance: Any, args: Any, kwargs: Any) -> tuple[str, Any, str, Any]:
    """Returns name, arguments and id of an agent's call, and the managed agent that it calls (None: a tool)."""
    name, arguments = {**dict(zip(("tool_name", "arguments"), args, strict=False)), **kwargs}.values()
    # The framework passes on the arguments of the model's answer: the same object, unless there are none.
    requests = [request for request in _requested.get(instance, []) if request.function.name == name]
    exact = [request for request in requests if request.function.arguments is arguments]
    call_id = next((request.id for request in exact or requests if isinstance(request.id, str)), "")
    return name, arguments, call_id, instance.managed_agents.get(name)


def _execute_tool_call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    tool_call = _read_call(instance, args, kwargs)
    if tool_call is None:
        return wrapped(*args, **kwargs)
    name, arguments, call_id, managed = tool_call
    if managed is not None and is_inside_run():
        begin = tool(name, arguments_by_name(arguments), call_id, is_agent=True)
        return call(begin, names.TOOL_RESULT_REF, wrapped, args, kwargs)
    token = _current.set((name, call_id))
    try:
        return wrapped(*args, **kwargs)
    finally:
        _current.reset(token)


@log_errors_and_return_none
def _tool(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    if not is_inside_run() or is_observed(instance.forward):
        return None
    arguments = {name: value for name, value in kwargs.items() if name != "sanitize_inputs_outputs"}
    if len(args) == 1 and isinstance(args[0], dict) and not arguments:
        arguments = cast("dict[str, Any]", args[0])
    else:
        arguments = dict(zip(instance.inputs, args, strict=False)) | arguments
    name, call_id = _current.get() or (None, "")
    return tool(instance.name, arguments, call_id if name == instance.name else None)


def _call_tool(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _tool(instance, args, kwargs)
    token = _current.set(None)  # a tool that this tool calls is another call
    try:
        if begin is None:
            return wrapped(*args, **kwargs)
        result = call(begin, names.TOOL_RESULT_REF, partial(_with_plain_text, wrapped), args, kwargs)
    finally:
        _current.reset(token)
    kind = _agent_text() if kwargs.get("sanitize_inputs_outputs") and type(result) is str else None
    return result if kind is None else kind(result)


def _with_plain_text(wrapped: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls the tool, and removes the framework's class around a text, which cannot be rebuilt from a record."""
    result = wrapped(*args, **kwargs)
    return result.to_raw() if type(result) is _agent_text() else result


def _agent_text() -> Any:
    return getattr(sys.modules.get("smolagents.agent_types"), "AgentText", None)


def _timeout(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps the decorator that runs an agent's code in a thread, to pass the current run on to that thread."""
    decorate = wrapped(*args, **kwargs)

    def decorated(function: Callable[..., Any]) -> Any:
        return decorate(propagate_to_thread(function))

    return decorated


def _is_rate_limit_error(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Returns False for our own errors.  The framework looks for "429" in an error's text, and ours may have it in an
    id or an argument: the framework would wait for minutes, and then retry a run that waits for a person's decision."""
    raised = args[0] if args else kwargs.get("exception")
    return not isinstance(raised, PlayheadError) and wrapped(*args, **kwargs)


_smolagents = Instrumentation(
    [
        Wrap("smolagents.agents", "MultiStepAgent.run", _run),
        Wrap("smolagents.agents", "ToolCallingAgent.process_tool_calls", _process_tool_calls, is_optional=True),
        Wrap("smolagents.agents", "ToolCallingAgent.execute_tool_call", _execute_tool_call),
        Wrap("smolagents.local_python_executor", "timeout", _timeout, is_optional=True),
        Wrap("smolagents.models", "is_rate_limit_error", _is_rate_limit_error, is_optional=True),
        Wrap("smolagents.tools", "Tool.__call__", _call_tool),
        Wrap("smolagents.tools", "PipelineTool.__call__", _call_tool, is_optional=True),
    ]
)
patch, unpatch = _smolagents.patch, _smolagents.unpatch
