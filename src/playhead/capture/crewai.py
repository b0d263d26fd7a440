"""CrewAI: crews, flows and agents that are started alone, their tasks, and the tools that agents call.

Models run on clients that are recorded themselves: `openai`, `anthropic`, `google.genai`, `botocore`, `litellm`.
"""

import asyncio
import contextvars
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from playhead.calls.begin import begin
from playhead.calls.lifecycle import current_span, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    arguments_by_name,
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
from playhead.model import names
from playhead.model.span import STATUS_ERROR

SUPPORTS = "crewai >= 1.15"

_requested: contextvars.ContextVar[tuple[str, str] | None] = contextvars.ContextVar(
    "playhead_crewai_call", default=None
)
"""Name of the tool that an agent is about to call here, and the id of the model's request."""

# --- crews, flows, agents ---------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _crew(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Returns None if the method only starts another one that is recorded: a stream, or a crew from a checkpoint."""
    parameters = {**dict(zip(("inputs", "input_files", "from_checkpoint"), args, strict=False)), **kwargs}
    checkpoint = parameters.get("from_checkpoint")
    if instance.stream or getattr(checkpoint, "restore_from", None) is not None:
        return None
    return agent(str(instance.name or "crew"), parameters.get("inputs"))


@log_errors_and_return_none
def _flow(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Returns None for the framework's own flows; an agent's loop is one of them."""
    if type(instance).__module__.startswith("crewai."):
        return None
    begin = _crew(instance, args, kwargs)
    return None if begin is None else agent(type(instance).__name__, args[0] if args else kwargs.get("inputs"))


@log_errors_and_return_none
def _task_agent(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Returns the `StartSpan` of an agent that works on a task; None for a retry, which is part of the agent's recorded
    call."""
    name, outer = str(instance.role), current_span()
    if outer is not None and outer.kind == "agent" and outer.attributes.get(names.AGENT_NAME) == name:
        return None
    task: Any = args[0] if args else kwargs["task"]
    return agent(name, str(task.description))


@log_errors_and_return_none
def _lone_agent(instance: Any, args: Any, kwargs: Any) -> StartSpan:
    return agent(str(instance.role), args[0] if args else kwargs.get("messages"))


def _lone_agent_plain(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Returns None inside an event loop: there the method returns the coroutine of the asynchronous method."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _lone_agent(instance, args, kwargs)
    return None


@log_errors_and_return_none
def _output(result: Any) -> Any:
    """Returns the answer of a crew, a task or an agent: its text if it has one, else the object."""
    raw = getattr(result, "raw", None)
    return raw if isinstance(raw, str) else result


# --- tasks ------------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _task(instance: Any, _args: Any, _kwargs: Any) -> StartSpan | None:
    return _step(str(instance.name or "task")) if is_inside_run() else None


@log_errors_and_return_none
def _method(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Returns the `StartSpan` of a step for a flow's method; None for the framework's own flows."""
    if not is_inside_run() or type(instance).__module__.startswith("crewai."):
        return None
    return _step(str(args[0] if args else kwargs["method_name"]))


def _step(name: str) -> StartSpan:
    return partial(begin, "step", name, attributes={names.GRAPH_NODE: name})


# --- tools ------------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _requested_call(call: Any) -> tuple[str, str] | None:
    from crewai.utilities.agent_utils import extract_tool_call_info  # noqa: PLC0415 # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    parts = cast("tuple[str, str, Any] | None", cast(Any, extract_tool_call_info)(call))
    if parts is None:
        return None
    call_id, name, _ = parts
    return name, "" if call_id == f"call_{id(call)}" else call_id  # that id is one that the framework made up


def _with_requested_call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    token = _requested.set(_requested_call(args[0] if args else kwargs.get("tool_call")))
    try:
        return wrapped(*args, **kwargs)
    finally:
        _requested.reset(token)


@log_errors_and_return_none
def _tool(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Reads `BaseTool.run`, which takes the arguments of the tool's function."""
    by_name = dict(zip(instance.args_schema.model_fields, args, strict=False)) if args else {}
    return _tool_call(instance, {**by_name, **kwargs})


@log_errors_and_return_none
def _structured_tool(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    """Reads `CrewStructuredTool.invoke`, which takes the arguments as a dictionary, or as its JSON."""
    tool_input: Any = args[0] if args else kwargs["input"]
    arguments = arguments_by_name(tool_input)
    more = {name: value for name, value in kwargs.items() if name not in ("input", "config")}
    return _tool_call(instance, {**arguments, **more})


def _tool_call(called: Any, arguments: dict[str, Any]) -> StartSpan | None:
    original = getattr(called, "_original_tool", None) or called
    if not is_inside_run() or is_observed(getattr(original, "func", None) or getattr(original, "_run", None)):
        return None
    from crewai.utilities.string_utils import sanitize_tool_name  # noqa: PLC0415 # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    name = cast(Any, sanitize_tool_name)(called.name)
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


def _recorded(read: Callable[[Any, Any, Any], StartSpan | None]) -> Wrapper:
    return with_span(partial(_begin, read), _finish)


def _recorded_async(read: Callable[[Any, Any, Any], StartSpan | None]) -> Wrapper:
    return with_span_async(partial(_begin, read), _finish)


def _begin(
    read: Callable[[Any, Any, Any], StartSpan | None], instance: Any, args: Any, kwargs: Any
) -> ObservedSpan | None:
    begin_span = read(instance, args, kwargs)
    return None if begin_span is None else begin_span()


def _finish(span: ObservedSpan, result: Any, _args: Any, _kwargs: Any) -> None:
    answer = _output(result)
    finish(span, None if answer is None else names.OUTPUT_REF, answer)


def _call_tool(read: Callable[[Any, Any, Any], StartSpan | None]) -> Wrapper:
    def run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        begin = read(instance, args, kwargs)
        token = _requested.set(None)  # a tool that it calls itself is another call
        try:
            if begin is None:
                return wrapped(*args, **kwargs)
            return call(begin, names.TOOL_RESULT_REF, partial(_noting_failure, wrapped), args, kwargs)
        finally:
            _requested.reset(token)

    return run


def _noting_failure(wrapped: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    result = wrapped(*args, **kwargs)
    _note_failure(result)
    return result


def _call_tool_async(read: Callable[[Any, Any, Any], StartSpan | None]) -> Wrapper:
    async def run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        begin = read(instance, args, kwargs)
        token = _requested.set(None)
        try:
            made = _noting_failure_async(wrapped, args, kwargs)
            return await (made if begin is None else call_async(begin, made, names.TOOL_RESULT_REF))
        finally:
            _requested.reset(token)

    return run


async def _noting_failure_async(wrapped: Any, args: Any, kwargs: Any) -> Any:
    result = await wrapped(*args, **kwargs)
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
