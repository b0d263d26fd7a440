"""OpenAI Agents: its function tools, its agents and handoffs between them, guardrails of agents and of tools, models
without an instrumented client, and tool calls that wait for a person.

A guardrail whose tripwire was triggered has the outcome `tripped`. Its `output_info` is the span's output.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from types import ModuleType
from typing import Any, Protocol

import wrapt

from playhead.calls.lifecycle import current_span, detach, enter, finish, note_error
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
    StartSpan,
    agent,
    arguments_by_name,
    begun,
    call_async,
    guardrail,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
    with_span_async,
)
from playhead.capture.openai_agents.handoffs import AgentRun, agent_turn
from playhead.capture.openai_agents.interruptions import note_decisions, note_interruptions
from playhead.capture.openai_agents.models import MODELS
from playhead.capture.patching import Instrumentation, Wrap, Wrapper, attributes_of
from playhead.capture.wrapping import Begin, CallRecording, MethodCall, intercepted, wrap, wrap_async
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.json_value import value_at

SUPPORTS = "openai-agents >= 0.14"


class _Guardrail(Protocol):
    guardrail_function: object

    def get_name(self) -> str: ...


class _ToolCallContext(Protocol):
    tool_name: str
    tool_arguments: str


class _GuardrailOutput(Protocol):
    """What a guardrail found."""

    tripwire_triggered: bool
    output_info: object


class _ToolCallData(Protocol):
    """What a tool's guardrail checks."""

    @property
    def context(self) -> _ToolCallContext: ...


# --- tools ------------------------------------------------------------------------------------------------------------


class _OnInvokeTool:
    """Descriptor on the tool class. Reading it returns the user's function wrapped so that calls are recorded."""

    NAME, _OURS = "on_invoke_tool", "_playhead_on_invoke_tool"

    def __get__(self, instance: Named | None, owner: object) -> object:
        held: dict[str, Any] = {} if instance is None else vars(instance)
        if instance is None or self.NAME not in held:
            raise AttributeError(self.NAME)
        function: Callable[..., Awaitable[object]] = held[self.NAME]
        ours: _ObservedTool | None = held.get(self._OURS)
        # Returns the same object each time, since the framework compares.  A copied tool has the original's: replaced.
        if ours is None or not ours.stands_for(function, instance):
            ours = held[self._OURS] = _ObservedTool(function, instance)
        return ours

    def __set__(self, instance: Named, value: object) -> None:
        vars(instance)[self.NAME] = getattr(value, "__wrapped__", None) if type(value) is _ObservedTool else value


class _ObservedTool(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """A tool's function, wrapped so that each call is recorded."""

    def __init__(self, function: Callable[..., Awaitable[object]], of: Named):
        super().__init__(function)  # pyright: ignore[reportUnknownMemberType]
        self._self_function = function
        self._self_of = of

    def stands_for(self, function: object, of: object) -> bool:
        """Whether this wraps this function of this tool."""
        return self._self_function is function and self._self_of is of

    def __call__(self, context: object, arguments: str, *more: object, **options: object) -> Awaitable[object]:
        begin = _begin_tool(self._self_of, context, arguments)
        made = self._self_function(context, arguments, *more, **options)
        return made if begin is None else call_async(begin, made, names.TOOL_RESULT_REF)


def _is_patched(kind: type) -> bool:
    return type(attributes_of(kind).get(_OnInvokeTool.NAME)) is _OnInvokeTool


class _ToolFunctions:
    """The patch that wraps each tool's function when it is read: tools are objects that hold their function."""

    module = "agents.tool"

    def apply(self, module: ModuleType, is_on: Callable[[], bool]) -> None:
        """Puts the descriptor on the tool class.  Raises TypeError if tools have slots."""
        kind: type = module.FunctionTool
        if "__slots__" in vars(kind):
            raise TypeError("this version's tools have no place for what they do when called")
        if not _is_patched(kind):
            setattr(kind, _OnInvokeTool.NAME, _OnInvokeTool())

    def undo(self, module: ModuleType) -> None:
        """Removes the descriptor; the tools still hold their own functions."""
        if _is_patched(module.FunctionTool):
            delattr(module.FunctionTool, _OnInvokeTool.NAME)


@log_errors_and_return_none
def _begin_tool(of: Named, context: object, arguments: str) -> StartSpan | None:
    if not _agents.is_on or not is_inside_run() or is_observed(_user_function(of)):
        return None
    is_agent = getattr(of, "_is_agent_tool", False) is True
    return tool(of.name, _parsed_arguments(arguments), getattr(context, "tool_call_id", None), is_agent=is_agent)


def _user_function(of: Named) -> object:
    """Returns the user's function of a tool, or None.  In older versions it is only in a closure."""
    function: object = getattr(of, "__wrapped__", None)
    made = getattr(attributes_of(of).get(_OnInvokeTool.NAME), "_invoke_tool_impl", None)
    if function is None and inspect.isfunction(made):
        function = inspect.getclosurevars(made).nonlocals.get("the_func")
    return function


@intercepted
async def _returned_error(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    message = await called.make(function)
    if message is not None:  # else the framework raises it
        _note_error(**called.kwargs)
    return message


@log_errors_and_return_none
def _note_error(*, context: object, error: BaseException, **_: object) -> None:
    """Marks the tool call as failed, though the framework returns a text to the model.  A function under `@observe` has
    marked its own call already."""
    span = current_span()
    if span is None or span.kind != "tool":
        return
    if span.attributes.get(names.TOOL_CALL_ID) == getattr(context, "tool_call_id", None):
        note_error(span, error)


def _parsed_arguments(arguments: str) -> Mapping[str, object]:
    """Parses the arguments; if they are not a JSON object, returns them under the key `input`."""
    try:
        value = parse_json(arguments)
    except (ValueError, TypeError):
        return {"input": arguments}
    return arguments_by_name(value)


# --- agents -----------------------------------------------------------------------------------------------------------

_StartedAgent = tuple[StartSpan, object, object]
"""The `StartSpan` of an agent's span, the agent itself, and its input."""
_EndRun = Callable[[AgentRun, Any], None]


class _StreamedRun(Protocol):
    """The result of `run_streamed`, at once."""

    run_loop_task: "asyncio.Task[object]"


@log_errors_and_return_none
def _begin_agent(called: MethodCall) -> _StartedAgent:
    starting: object = called.argument(0, "starting_agent")
    run_input = called.argument(1, "input")
    is_state = not isinstance(run_input, str | list)  # the state of a run that was interrupted
    begin = agent(str(getattr(starting, "name", "agent")), None if is_state else called.argument(1, "input"))
    return begin, starting, run_input


@log_errors_and_return_none
def _final_output(result: object) -> object:
    return getattr(result, "final_output", None)


class _RunRecording(CallRecording):
    """One call of `Runner.run` or `Runner.run_streamed`."""

    def __init__(self, call: MethodCall, run: AgentRun, end: _EndRun):
        super().__init__(call)
        self._run = run
        self._end = end

    def current(self) -> AbstractContextManager[None]:
        return self._run.current()

    def end(self, result: object) -> object:
        self._end(self._run, result)
        return result

    def fail(self, raised: BaseException) -> None:
        self._run.fail(raised)


def _recording_run(wrap_run: Callable[[Begin], Wrapper], end: _EndRun) -> Wrapper:
    def run(function: Callable[..., object], called: MethodCall) -> object:
        started = _begin_agent(called)
        if started is None:  # another version, in which the function may be of another kind
            return called.make(function)
        return wrap_run(partial(_begin_run, started, end))(function, called.client, called.args, called.kwargs)

    return intercepted(run)


def _begin_run(started: _StartedAgent, end: _EndRun, call: MethodCall) -> CallRecording | None:
    begin, starting, run_input = started
    span = begin()
    if span is None:
        return None
    enter(span)
    note_decisions(span, run_input)
    return _RunRecording(call, AgentRun(span, starting), end)


def _finish_run(run: AgentRun, result: object) -> None:
    note_interruptions(run.span, result)
    run.finish(_final_output(result))


def _await_end(run: AgentRun, result: _StreamedRun) -> None:
    detach(run.span)  # the task that the call has started has a copy of the context, in which the span stays current
    with guarded("see when a streamed run of an agent ends"):  # another version
        result.run_loop_task.add_done_callback(partial(_end_streamed, run, result))
        return
    run.finish(None)


def _end_streamed(run: AgentRun, result: object, task: "asyncio.Task[object]") -> None:
    raised = asyncio.CancelledError() if task.cancelled() else task.exception()
    if raised is not None:
        run.fail(raised)
    else:
        _finish_run(run, result)


_run_agent, _run_streamed = _recording_run(wrap_async, _finish_run), _recording_run(wrap, _await_end)


# --- guardrails -------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_guardrail(called: MethodCall) -> StartSpan | None:
    checking: _Guardrail = called.client
    if not is_inside_run() or is_observed(checking.guardrail_function):
        return None
    if "data" in called.kwargs or len(called.args) == 1:  # of a tool
        checked = _checked_call(called.argument(0, "data"))
    elif "agent_output" in called.kwargs or type(checking).__name__ == "OutputGuardrail":
        checked = {"output": called.argument(2, "agent_output")}
    else:
        checked = {"input": called.argument(1, "input")}
    return guardrail(str(checking.get_name()), checked)


def _checked_call(data: _ToolCallData) -> dict[str, object]:
    checked: dict[str, object] = {"tool": data.context.tool_name, "arguments": data.context.tool_arguments}
    if hasattr(data, "output"):
        checked["output"] = getattr(data, "output", None)
    return checked


def _end_check(span: ObservedSpan, result: object, _: MethodCall) -> None:
    if _is_tripped(result):
        span.attributes[names.OUTCOME] = names.TRIPPED
    finish(span, names.OUTPUT_REF, _output_info(result))


@log_errors_and_return_none
def _is_tripped(result: Any) -> bool:
    """Whether an agent's guardrail was triggered, or a tool's guardrail does not let the call pass."""
    behavior = value_at(getattr(result, "behavior", None), "type")
    if behavior is not None:
        return behavior != "allow"
    found: _GuardrailOutput = getattr(result, "output", result)
    return found.tripwire_triggered is True


@log_errors_and_return_none
def _output_info(result: Any) -> object:
    found: _GuardrailOutput = getattr(result, "output", result)
    return found.output_info


_run_guardrail = with_span_async(begun(_begin_guardrail), _end_check)
GUARDRAILS = (
    *(Wrap("agents.guardrail", f"{kind}.run", _run_guardrail) for kind in ("InputGuardrail", "OutputGuardrail")),
    *(
        Wrap("agents.tool_guardrails", f"{kind}.run", _run_guardrail, is_optional=True)
        for kind in ("ToolInputGuardrail", "ToolOutputGuardrail")
    ),
)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_TURNS = ("run_single_turn", "run_single_turn_streamed", "resolve_interrupted_turn", "run_output_guardrails")
_agents = Instrumentation(
    [
        _ToolFunctions(),
        # Converts the error that a tool raised to the text that the model gets.
        Wrap("agents.tool", "maybe_invoke_function_tool_failure_error_function", _returned_error, is_optional=True),
        Wrap("agents.run", "AgentRunner.run", _run_agent),  # which `run_sync` goes through
        Wrap("agents.run", "AgentRunner.run_streamed", _run_streamed),
        # In each module that calls them: one imports them from the other.
        *(Wrap("agents.run", name, agent_turn, is_optional=True) for name in _TURNS),
        *(Wrap("agents.run_internal.run_loop", name, agent_turn, is_optional=True) for name in _TURNS),
        *GUARDRAILS,
        *MODELS,
    ]
)
patch, unpatch = _agents.patch, _agents.unpatch
