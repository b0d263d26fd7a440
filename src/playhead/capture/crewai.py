"""CrewAI: crews, flows and agents that are started alone, their tasks, and the tools that agents call.

Models run on clients that are recorded themselves: `openai`, `anthropic`, `google.genai`, `botocore`, `litellm`.
"""

import asyncio
import contextvars
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from playhead.calls.begin import begin
from playhead.calls.lifecycle import current_span, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
    ReadCall,
    StartSpan,
    agent,
    arguments_by_name,
    begun,
    call,
    call_async,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
    with_span,
    with_span_async,
)
from playhead.capture.patching import Instrumentation, Wrap, Wrapper
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.span import STATUS_ERROR

SUPPORTS = "crewai >= 1.15"

_requested: contextvars.ContextVar[tuple[str, str] | None] = contextvars.ContextVar(
    "playhead_crewai_call", default=None
)
"""Name of the tool that an agent is about to call here, and the id of the model's request."""


class _CrewOrFlow(Named, Protocol):
    """A crew or a flow."""

    stream: bool


class _CrewAgent(Protocol):
    role: str


class _CrewTask(Protocol):
    description: str


class _CrewTool(Named, Protocol):
    @property
    def args_schema(self) -> "_ArgumentsSchema": ...


class _ArgumentsSchema(Protocol):
    """A class of pydantic's."""

    @property
    def model_fields(self) -> Mapping[str, object]: ...


# --- crews, flows, agents ---------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _crew(called: MethodCall) -> StartSpan | None:
    """Returns None if the method only starts another one that is recorded: a stream, or a crew from a checkpoint."""
    crew: _CrewOrFlow = called.client
    checkpoint: object = called.argument(2, "from_checkpoint")
    if crew.stream or getattr(checkpoint, "restore_from", None) is not None:
        return None
    return agent(str(crew.name or "crew"), called.argument(0, "inputs"))


@log_errors_and_return_none
def _flow(called: MethodCall) -> StartSpan | None:
    """Returns None for the framework's own flows; an agent's loop is one of them."""
    flow: _CrewOrFlow = called.client
    if type(flow).__module__.startswith("crewai."):
        return None
    begin = _crew(called)
    return None if begin is None else agent(type(flow).__name__, called.argument(0, "inputs"))


@log_errors_and_return_none
def _task_agent(called: MethodCall) -> StartSpan | None:
    """Returns the `StartSpan` of an agent that works on a task; None for a retry, which is part of the agent's recorded
    call."""
    working: _CrewAgent = called.client
    name, outer = str(working.role), current_span()
    if outer is not None and outer.kind == "agent" and outer.attributes.get(names.AGENT_NAME) == name:
        return None
    task: _CrewTask = called.argument(0, "task")
    return agent(name, str(task.description))


@log_errors_and_return_none
def _lone_agent(called: MethodCall) -> StartSpan:
    alone: _CrewAgent = called.client
    return agent(str(alone.role), called.argument(0, "messages"))


def _lone_agent_plain(called: MethodCall) -> StartSpan | None:
    """Returns None inside an event loop: there the method returns the coroutine of the asynchronous method."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _lone_agent(called)
    return None


@log_errors_and_return_none
def _output(result: object) -> object:
    """Returns the answer of a crew, a task or an agent: its text if it has one, else the object."""
    raw = getattr(result, "raw", None)
    return raw if isinstance(raw, str) else result


# --- tasks ------------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _task(called: MethodCall) -> StartSpan | None:
    task: Named = called.client
    return _step(str(task.name or "task")) if is_inside_run() else None


@log_errors_and_return_none
def _method(called: MethodCall) -> StartSpan | None:
    """Returns the `StartSpan` of a step for a flow's method; None for the framework's own flows."""
    flow: _CrewOrFlow = called.client
    if not is_inside_run() or type(flow).__module__.startswith("crewai."):
        return None
    return _step(str(called.argument(0, "method_name")))


def _step(name: str) -> StartSpan:
    return partial(begin, "step", name, attributes={names.GRAPH_NODE: name})


# --- tools ------------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _requested_call(requested: object) -> tuple[str, str] | None:
    utilities = import_module("crewai.utilities.agent_utils")
    read: Callable[[object], tuple[str, str, object] | None] = utilities.extract_tool_call_info
    parts = read(requested)
    if parts is None:
        return None
    call_id, name, _ = parts
    return name, "" if call_id == f"call_{id(requested)}" else call_id  # that id is one that the framework made up


@intercepted
def _with_requested_call(function: Callable[..., object], called: MethodCall) -> object:
    token = _requested.set(_requested_call(called.argument(0, "tool_call")))
    try:
        return called.make(function)
    finally:
        _requested.reset(token)


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    """Reads `BaseTool.run`, which takes the arguments of the tool's function."""
    its_tool: _CrewTool = called.client
    parameters = its_tool.args_schema.model_fields if called.args else ()
    return _tool_call(its_tool, called.arguments(*parameters))


@log_errors_and_return_none
def _structured_tool(called: MethodCall) -> StartSpan | None:
    """Reads `CrewStructuredTool.invoke`, which takes the arguments as a dictionary, or as its JSON."""
    arguments = arguments_by_name(called.argument(0, "input"))
    more = {name: value for name, value in called.kwargs.items() if name not in ("input", "config")}
    return _tool_call(called.client, {**arguments, **more})


def _tool_call(its_tool: Named, arguments: Mapping[str, object]) -> StartSpan | None:
    original = getattr(its_tool, "_original_tool", None) or its_tool
    if not is_inside_run() or is_observed(getattr(original, "func", None) or getattr(original, "_run", None)):
        return None
    sanitized: Callable[[str], str] = import_module("crewai.utilities.string_utils").sanitize_tool_name
    name = sanitized(its_tool.name)
    requested, call_id = _requested.get() or (name, "")
    if requested != name:  # the framework appends numbers to tools of equal names
        name, call_id = (requested, call_id) if requested.startswith(name) else (name, "")
    is_agent = any(kind.__name__ == "BaseAgentTool" for kind in type(original).__mro__)
    return tool(name, arguments, call_id, is_agent=is_agent)


@log_errors_and_return_none
def _note_failure(result: Any) -> None:
    """Marks a tool call that returned a `ToolFailure` as failed; the agent still gets that value, also on resume."""
    span, module = current_span(), sys.modules.get("crewai.tools.tool_failure")
    if span is None or span.kind != "tool" or not isinstance(result, getattr(module, "ToolFailure", ())):
        return
    span.attributes[names.ERROR_TYPE] = str(result.reason.value)
    span.status, span.status_message = STATUS_ERROR, span.recorder.text(str(result.message), span.redact)


# --- the wrappers -----------------------------------------------------------------------------------------------------


def _recorded(read: ReadCall) -> Wrapper:
    return with_span(begun(read), _finish)


def _recorded_async(read: ReadCall) -> Wrapper:
    return with_span_async(begun(read), _finish)


def _finish(span: ObservedSpan, result: object, _: MethodCall) -> None:
    answer = _output(result)
    finish(span, None if answer is None else names.OUTPUT_REF, answer)


def _call_tool(read: ReadCall) -> Wrapper:
    def run(function: Callable[..., object], called: MethodCall) -> object:
        begin = read(called)
        token = _requested.set(None)  # a tool that it calls itself is another call
        try:
            if begin is None:
                return called.make(function)
            return call(begin, names.TOOL_RESULT_REF, partial(_noting_failure, function), called)
        finally:
            _requested.reset(token)

    return intercepted(run)


def _noting_failure(function: Callable[..., object], *args: object, **kwargs: object) -> object:
    result = function(*args, **kwargs)
    _note_failure(result)
    return result


def _call_tool_async(read: ReadCall) -> Wrapper:
    async def run(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
        begin = read(called)
        token = _requested.set(None)
        try:
            made = _noting_failure_async(function, called)
            return await (made if begin is None else call_async(begin, made, names.TOOL_RESULT_REF))
        finally:
            _requested.reset(token)

    return intercepted(run)


async def _noting_failure_async(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    result = await called.make(function)
    _note_failure(result)
    return result


_FLOW = "crewai.flow.runtime"
_TOOLS = "crewai.tools.base_tool"
_STRUCTURED = "crewai.tools.structured_tool"
# Modules that call `execute_single_native_tool_call`, each patched: one imports it from the other.
_CALLED_IN = ("crewai.utilities.agent_utils", "crewai.agents.step_executor")
_crewai = Instrumentation(
    [
        Wrap("crewai.crew", "Crew.kickoff", _recorded(_crew)),  # which `kickoff_async` goes through
        Wrap("crewai.crew", "Crew.akickoff", _recorded_async(_crew)),
        Wrap(_FLOW, "Flow.kickoff_async", _recorded_async(_flow), is_optional=True),  # which `kickoff` goes through
        Wrap(_FLOW, "Flow._execute_method", _recorded_async(_method), is_optional=True),
        Wrap("crewai.agent.core", "Agent.execute_task", _recorded(_task_agent)),
        Wrap("crewai.agent.core", "Agent.aexecute_task", _recorded_async(_task_agent), is_optional=True),
        Wrap("crewai.agent.core", "Agent.kickoff", _recorded(_lone_agent_plain)),
        Wrap("crewai.agent.core", "Agent.kickoff_async", _recorded_async(_lone_agent)),
        Wrap("crewai.lite_agent", "LiteAgent.kickoff", _recorded(_lone_agent_plain), is_optional=True),
        Wrap("crewai.task", "Task._execute_core", _recorded(_task), is_optional=True),
        Wrap("crewai.task", "Task._aexecute_core", _recorded_async(_task), is_optional=True),
        Wrap(
            "crewai.agents.agent_executor",
            "AgentExecutor._execute_single_native_tool_call",
            _with_requested_call,
            is_optional=True,
        ),
        *(Wrap(name, "execute_single_native_tool_call", _with_requested_call, is_optional=True) for name in _CALLED_IN),
        Wrap(_TOOLS, "BaseTool.run", _call_tool(_tool)),
        Wrap(_TOOLS, "BaseTool.arun", _call_tool_async(_tool), is_optional=True),
        Wrap(_TOOLS, "Tool.run", _call_tool(_tool), is_optional=True),
        Wrap(_TOOLS, "Tool.arun", _call_tool_async(_tool), is_optional=True),
        Wrap(_STRUCTURED, "CrewStructuredTool.invoke", _call_tool(_structured_tool)),
        Wrap(_STRUCTURED, "CrewStructuredTool.ainvoke", _call_tool_async(_structured_tool), is_optional=True),
    ]
)
patch, unpatch = _crewai.patch, _crewai.unpatch
