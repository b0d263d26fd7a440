"""smolagents: its agents, also those that another agent calls like tools, and its tools, called by a `ToolCallingAgent`
or by the code that a `CodeAgent` runs.

Models run on clients that are recorded themselves: `openai`, `litellm`, `botocore`.
"""

import contextvars
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from playhead.api.scope import propagate_to_thread
from playhead.calls import functions
from playhead.calls.lifecycle import current_span, set_payload
from playhead.capture.frameworks.observing import (
    Named,
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
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.errors import PlayheadError
from playhead.model import names
from playhead.model.json_value import object_of

SUPPORTS = "smolagents >= 1.24"


class _CallingAgent(Protocol):
    """A `ToolCallingAgent`."""

    managed_agents: Mapping[str, object]


class _RequestedFunction(Protocol):
    name: str
    arguments: object


class _RequestedCall(Protocol):
    """A tool call that a model requests."""

    id: object
    function: _RequestedFunction


class _ChatMessage(Protocol):
    """A model's answer."""

    tool_calls: Iterable[_RequestedCall]


class _SmolagentsTool(Protocol):
    name: str
    inputs: Mapping[str, object]
    forward: object


_requested: WeakKeyDictionary[object, list[_RequestedCall]] = WeakKeyDictionary()
"""Agent → the tool calls that its model's last answer requests."""
_current: contextvars.ContextVar[tuple[str, str] | None] = contextvars.ContextVar(
    "playhead_smolagents_call", default=None
)
"""Name of the tool that an agent is about to call here, and the id of the model's request."""


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan:
    running: Named = called.client
    return agent(running.name or type(running).__name__, called.argument(0, "task"))


@intercepted
def _run(function: Callable[..., Any], called: MethodCall) -> object:
    begin = _agent(called)
    if begin is None:
        return called.make(function)
    if called.argument(1, "stream"):
        return functions.iterate(begin, None, _with_output(called.make(function)))
    return call(begin, names.OUTPUT_REF, function, called)


def _with_output(steps: Generator[object]) -> Generator[object]:
    """Yields an agent's steps, and records its output, which is in the last step."""
    try:
        for step in steps:
            _note_output(step)
            yield step
    finally:
        steps.close()


@log_errors_and_return_none
def _note_output(step: object) -> None:
    span = current_span()
    if type(step).__name__ == "FinalAnswerStep" and span is not None:
        set_payload(span, names.OUTPUT_REF, getattr(step, "output", None))


@intercepted
def _process_tool_calls(function: Callable[..., object], called: MethodCall) -> object:
    _note_requested(called)
    return called.make(function)


@log_errors_and_return_none
def _note_requested(called: MethodCall) -> None:
    message: _ChatMessage = called.argument(0, "chat_message")
    _requested[called.client] = list(message.tool_calls)


@log_errors_and_return_none
def _read_call(called: MethodCall) -> tuple[str, object, str, object]:
    """Returns name, arguments and id of an agent's call, and the managed agent that it calls (None: a tool)."""
    calling: _CallingAgent = called.client
    name: str
    arguments: object
    name, arguments = called.arguments("tool_name", "arguments").values()
    # The framework passes on the arguments of the model's answer: the same object, unless there are none.
    requests = [request for request in _requested.get(calling, []) if request.function.name == name]
    exact = [request for request in requests if request.function.arguments is arguments]
    call_id = next((request.id for request in exact or requests if isinstance(request.id, str)), "")
    return name, arguments, call_id, calling.managed_agents.get(name)


@intercepted
def _execute_tool_call(function: Callable[..., object], called: MethodCall) -> object:
    tool_call = _read_call(called)
    if tool_call is None:
        return called.make(function)
    name, arguments, call_id, managed = tool_call
    if managed is not None and is_inside_run():
        begin = tool(name, arguments_by_name(arguments), call_id, is_agent=True)
        return call(begin, names.TOOL_RESULT_REF, function, called)
    token = _current.set((name, call_id))
    try:
        return called.make(function)
    finally:
        _current.reset(token)


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    its_tool: _SmolagentsTool = called.client
    if not is_inside_run() or is_observed(its_tool.forward):
        return None
    arguments = {name: value for name, value in called.kwargs.items() if name != "sanitize_inputs_outputs"}
    fields = object_of(called.argument(0, ""))
    if len(called.args) == 1 and isinstance(called.args[0], dict) and not arguments:
        arguments = fields
    else:
        arguments = dict(zip(its_tool.inputs, called.args, strict=False)) | arguments
    name, call_id = _current.get() or (None, "")
    return tool(its_tool.name, arguments, call_id if name == its_tool.name else None)


@intercepted
def _call_tool(function: Callable[..., object], called: MethodCall) -> object:
    begin = _tool(called)
    token = _current.set(None)  # a tool that this tool calls is another call
    try:
        if begin is None:
            return called.make(function)
        result = call(begin, names.TOOL_RESULT_REF, partial(_with_plain_text, function), called)
    finally:
        _current.reset(token)
    kind = _agent_text() if called.kwargs.get("sanitize_inputs_outputs") and type(result) is str else None
    return result if kind is None else kind(result)


def _with_plain_text(function: Callable[..., Any], *args: object, **kwargs: object) -> object:
    """Calls the tool, and removes the framework's class around a text, which cannot be rebuilt from a record."""
    result = function(*args, **kwargs)
    return result.to_raw() if type(result) is _agent_text() else result


def _agent_text() -> Callable[[object], object] | None:
    return getattr(sys.modules.get("smolagents.agent_types"), "AgentText", None)


@intercepted
def _timeout(function: Callable[..., Callable[..., object]], called: MethodCall) -> object:
    """Wraps the decorator that runs an agent's code in a thread, to pass the current run on to that thread."""
    decorate = called.make(function)

    def decorated(code: Callable[..., object]) -> object:
        return decorate(propagate_to_thread(code))

    return decorated


@intercepted
def _is_rate_limit_error(function: Callable[..., object], called: MethodCall) -> object:
    """Returns False for our own errors.  The framework looks for "429" in an error's text, and ours may have it in an
    id or an argument: the framework would wait for minutes, and then retry a run that waits for a person's decision."""
    return not isinstance(called.argument(0, "exception"), PlayheadError) and called.make(function)


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
