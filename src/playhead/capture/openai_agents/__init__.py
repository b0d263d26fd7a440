"""OpenAI Agents: its function tools, its agents and handoffs between them, guardrails of agents and of tools, models
without an instrumented client, and tool calls that wait for a person.

A guardrail whose tripwire was triggered has the outcome `tripped`. Its `output_info` is the span's output.
"""

import asyncio
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, cast

import wrapt

from playhead.calls.lifecycle import current_span, detach, enter, finish, note_error
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    arguments_by_name,
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
from playhead.capture.wrapping import Begin, CallRecording, MethodCall, wrap, wrap_async
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.json_value import value_at

SUPPORTS = "openai-agents >= 0.14"


# --- tools ------------------------------------------------------------------------------------------------------------


class _OnInvokeTool:
    """Descriptor on the tool class. Reading it returns the user's function wrapped so that calls are recorded."""

    NAME, _OURS = "on_invoke_tool", "_playhead_on_invoke_tool"

    def __get__(self, instance: Any, owner: Any) -> Any:
        held = cast("dict[str, Any]", {} if instance is None else vars(instance))
        if self.NAME not in held:
            raise AttributeError(self.NAME)
        function: Any = held[self.NAME]
        ours: _ObservedTool | None = held.get(self._OURS)
        # Returns the same object each time, since the framework compares.  A copied tool has the original's: replaced.
        if ours is None or not ours.stands_for(function, instance):
            ours = held[self._OURS] = _ObservedTool(function, instance)
        return ours

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.NAME] = cast(Any, value).__wrapped__ if type(value) is _ObservedTool else value


class _ObservedTool(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """A tool's function, wrapped so that each call is recorded."""

    def __init__(self, function: Callable[..., Any], of: Any):
        super().__init__(function)  # pyright: ignore[reportUnknownMemberType]
        self._self_function = function
        self._self_of = of

    def stands_for(self, function: Any, of: Any) -> bool:
        """Whether this wraps this function of this tool."""
        return self._self_function is function and self._self_of is of

    def __call__(self, context: Any, arguments: str, *more: Any, **options: Any) -> Any:
        begin = _begin_tool(self._self_of, context, arguments)
        made = self._self_function(context, arguments, *more, **options)
        return made if begin is None else call_async(begin, made, names.TOOL_RESULT_REF)


def _is_patched(kind: Any) -> bool:
    return type(attributes_of(kind).get(_OnInvokeTool.NAME)) is _OnInvokeTool


class _ToolFunctions:
    """The patch that wraps each tool's function when it is read: tools are objects that hold their function."""

    module = "agents.tool"

    def apply(self, module: Any, is_on: Callable[[], bool]) -> None:
        """Puts the descriptor on the tool class.  Raises TypeError if tools have slots."""
        if "__slots__" in vars(module.FunctionTool):
            raise TypeError("this version's tools have no place for what they do when called")
        if not _is_patched(module.FunctionTool):
            module.FunctionTool.on_invoke_tool = _OnInvokeTool()

    def undo(self, module: Any) -> None:
        """Removes the descriptor; the tools still hold their own functions."""
        if _is_patched(module.FunctionTool):
            del module.FunctionTool.on_invoke_tool


@log_errors_and_return_none
def _begin_tool(of: Any, context: Any, arguments: str) -> StartSpan | None:
    if not _agents.is_on or not is_inside_run() or is_observed(_user_function(of)):
        return None
    is_agent = getattr(of, "_is_agent_tool", False) is True
    return tool(of.name, _parsed_arguments(arguments), getattr(context, "tool_call_id", None), is_agent=is_agent)


def _user_function(of: Any) -> Any:
    """Returns the user's function of a tool, or None.  In older versions it is only in a closure."""
    function = getattr(of, "__wrapped__", None)
    made = getattr(attributes_of(of).get(_OnInvokeTool.NAME), "_invoke_tool_impl", None)
    if function is None and inspect.isfunction(made):
        function = inspect.getclosurevars(made).nonlocals.get("the_func")
    return function


async def _returned_error(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    message = await wrapped(*args, **kwargs)
    if message is not None:  # else the framework raises it
        _note_error(**kwargs)
    return message


@log_errors_and_return_none
def _note_error(*, context: Any, error: BaseException, **_: Any) -> None:
    """Marks the tool call as failed, though the framework returns a text to the model.  A function under `@observe` has
    marked its own call already."""
    span = current_span()
    if span is None or span.kind != "tool":
        return
    if span.attributes.get(names.TOOL_CALL_ID) == getattr(context, "tool_call_id", None):
        note_error(span, error)


def _parsed_arguments(arguments: str) -> dict[str, Any]:
    """Parses the arguments; if they are not a JSON object, returns them under the key `input`."""
    try:
        value = parse_json(arguments)
    except (ValueError, TypeError):
        return {"input": arguments}
    return arguments_by_name(value)


# --- agents -----------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_agent(instance: Any, args: Any, kwargs: Any) -> tuple[StartSpan, Any, Any]:
    """Returns the `StartSpan` of the agent's span, the agent itself, and its input."""
    starting = args[0] if args else kwargs.get("starting_agent")
    run_input: Any = args[1] if len(args) > 1 else kwargs.get("input")
    is_state = not isinstance(run_input, str | list)  # the state of a run that was interrupted
    return agent(str(getattr(starting, "name", "agent")), None if is_state else run_input), starting, run_input


@log_errors_and_return_none
def _final_output(result: Any) -> Any:
    return getattr(result, "final_output", None)


class _RunRecording(CallRecording):
    """One call of `Runner.run` or `Runner.run_streamed`."""

    def __init__(self, call: MethodCall, run: AgentRun, end: Callable[[AgentRun, Any], None]):
        super().__init__(call)
        self._run = run
        self._end = end

    def current(self) -> AbstractContextManager[None]:
        return self._run.current()

    def end(self, result: Any) -> Any:
        self._end(self._run, result)
        return result

    def fail(self, raised: BaseException) -> None:
        self._run.fail(raised)


def _recording_run(wrap_run: Callable[[Begin], Wrapper], end: Callable[[AgentRun, Any], None]) -> Wrapper:
    def run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        begun = _begin_agent(instance, args, kwargs)
        if begun is None:  # another version, in which the function may be of another kind
            return wrapped(*args, **kwargs)
        return wrap_run(partial(_begin_run, begun, end))(wrapped, instance, args, kwargs)

    return run


def _begin_run(
    begun: tuple[StartSpan, Any, Any], end: Callable[[AgentRun, Any], None], call: MethodCall
) -> CallRecording | None:
    begin, starting, run_input = begun
    span = begin()
    if span is None:
        return None
    enter(span)
    note_decisions(span, run_input)
    return _RunRecording(call, AgentRun(span, starting), end)


def _finish_run(run: AgentRun, result: Any) -> None:
    note_interruptions(run.span, result)
    run.finish(_final_output(result))


def _await_end(run: AgentRun, result: Any) -> None:
    detach(run.span)  # the task that the call has started has a copy of the context, in which the span stays current
    with guarded("see when a streamed run of an agent ends"):  # another version
        result.run_loop_task.add_done_callback(partial(_end_streamed, run, result))
        return
    run.finish(None)


def _end_streamed(run: AgentRun, result: Any, task: Any) -> None:
    raised = asyncio.CancelledError() if task.cancelled() else task.exception()
    if raised is not None:
        run.fail(raised)
    else:
        _finish_run(run, result)


_run_agent, _run_streamed = _recording_run(wrap_async, _finish_run), _recording_run(wrap, _await_end)


# --- guardrails -------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_guardrail(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
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


def _begin_check(instance: Any, args: Any, kwargs: Any) -> ObservedSpan | None:
    begin = _begin_guardrail(instance, args, kwargs)
    return None if begin is None else begin()


def _end_check(span: ObservedSpan, result: Any, _args: Any, _kwargs: Any) -> None:
    if _is_tripped(result):
        span.attributes[names.OUTCOME] = names.TRIPPED
    finish(span, names.OUTPUT_REF, _output_info(result))


@log_errors_and_return_none
def _is_tripped(result: Any) -> bool:
    """Whether an agent's guardrail was triggered, or a tool's guardrail does not let the call pass."""
    behavior = value_at(getattr(result, "behavior", None), "type")
    if behavior is not None:
        return behavior != "allow"
    return result.output.tripwire_triggered is True


@log_errors_and_return_none
def _output_info(result: Any) -> Any:
    return getattr(result, "output", result).output_info


_run_guardrail = with_span_async(_begin_check, _end_check)
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
