"""OpenAI Agents: its function tools, and its agents: each run of one, and those that it is handed off to."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import wrapt

from playhead.api.calls.lifecycle import current_span, detach, enter, note_error
from playhead.api.guard import swallowed
from playhead.capture.frameworks import (
    Begin,
    Framework,
    agent,
    call_async,
    is_inside_run,
    is_observed,
    none_on_error,
    tool,
    wrap,
)
from playhead.capture.openai_agents.handoffs import AgentRun, turn
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.objects.interrupts import let_through

SUPPORTS = "openai-agents >= 0.14"


def _patch_tool(module: Any) -> None:
    if "__slots__" in vars(module.FunctionTool):
        raise TypeError("this version's tools have no place for what they do when called")
    module.FunctionTool.on_invoke_tool = _OnInvokeTool()
    if hasattr(module, _SWALLOWS):
        wrap(module, _SWALLOWS, _swallowed)


# Given what a tool raised, makes the text that the model gets instead.
_SWALLOWS = "maybe_invoke_function_tool_failure_error_function"


def _patch_run(module: Any) -> None:
    wrap(module.AgentRunner, "run", _run)  # which `run_sync` goes through
    wrap(module.AgentRunner, "run_streamed", _run_streamed)
    _patch_turns(module)


def _patch_turns(module: Any) -> None:
    """In each module that calls them: one imports them from the other."""
    for name in _TURNS:
        found = getattr(module, name, None)
        if found is not None and not isinstance(found, wrapt.FunctionWrapper):
            wrap(module, name, turn)


_TURNS = ("run_single_turn", "run_single_turn_streamed", "resolve_interrupted_turn", "run_output_guardrails")
_agents = Framework(
    {"agents.tool": _patch_tool, "agents.run": _patch_run, "agents.run_internal.run_loop": _patch_turns}
)
patch, unpatch = _agents.patch, _agents.unpatch


class _OnInvokeTool:
    """Descriptor on the tool class. Reading it returns the user's function wrapped so that calls are recorded."""

    _NAME, _OURS = "on_invoke_tool", "_playhead_on_invoke_tool"

    def __get__(self, instance: Any, owner: Any) -> Any:
        held = cast("dict[str, Any]", {} if instance is None else vars(instance))
        if self._NAME not in held:
            raise AttributeError(self._NAME)
        function: Any = held[self._NAME]
        ours: _ObservedTool | None = held.get(self._OURS)
        # The framework asks whether it is still the same; a copy of a tool has that of the tool.
        if ours is None or not ours.stands_for(function, instance):
            ours = held[self._OURS] = _ObservedTool(function, instance)
        return ours

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._NAME] = cast(Any, value).__wrapped__ if type(value) is _ObservedTool else value


class _ObservedTool(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """A tool's function, wrapped so that each call is recorded."""

    def __init__(self, function: Callable[..., Any], of: Any):
        super().__init__(function)  # pyright: ignore[reportUnknownMemberType]
        self._self_function = function
        self._self_of = of

    def stands_for(self, function: Any, of: Any) -> bool:
        """Whether it is this tool's."""
        return self._self_function is function and self._self_of is of

    def __call__(self, context: Any, arguments: str, *more: Any, **options: Any) -> Any:
        begin = _tool(self._self_of, context, arguments)
        made = self._self_function(context, arguments, *more, **options)
        return made if begin is None else call_async(begin, names.TOOL_RESULT_REF, made)


@none_on_error
def _tool(of: Any, context: Any, arguments: str) -> Begin | None:
    if not _agents.on or not is_inside_run() or is_observed(getattr(of, "__wrapped__", None)):
        return None
    is_agent = getattr(of, "_is_agent_tool", False) is True
    return tool(of.name, _read(arguments), getattr(context, "tool_call_id", None), is_agent=is_agent)


async def _swallowed(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    told = await wrapped(*args, **kwargs)
    if told is not None:  # else the framework raises it
        _note_error(**kwargs)
    return told


@none_on_error
def _note_error(*, context: Any, error: BaseException, **_: Any) -> None:
    """The tool's call has failed, though it returns a text; a function under `@observe` has said so already."""
    span = current_span()
    if span is None or not _agents.on or span.kind != "tool":
        return
    if span.attributes.get(names.TOOL_CALL_ID) == getattr(context, "tool_call_id", None):
        note_error(span, error)


def _read(arguments: str) -> dict[str, Any]:
    """The arguments as the model wrote them, which may be anything."""
    try:
        given = parse_json(arguments)
    except (ValueError, TypeError):
        return {"input": arguments}
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {"input": given}


@none_on_error
def _agent(args: Any, kwargs: Any) -> tuple[Begin, Any] | None:
    """What begins the agent, and the agent itself."""
    if not _agents.on:
        return None
    starting = args[0] if args else kwargs.get("starting_agent")
    asked: Any = args[1] if len(args) > 1 else kwargs.get("input")
    if not isinstance(asked, str | list):  # the state of a run that was interrupted
        asked = None
    return agent(str(getattr(starting, "name", "agent")), asked), starting


@none_on_error
def _final_output(result: Any) -> Any:
    return getattr(result, "final_output", None)


def _run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    found, made = _agent(args, kwargs), wrapped(*args, **kwargs)
    return made if found is None else _recorded(*found, made)


async def _recorded(begin: Begin, starting: Any, made: Any) -> Any:
    span = begin()
    if span is None:
        return await made
    enter(span)
    run = AgentRun(span, starting)
    try:
        with run.current():
            result = await made
    except BaseException as error:
        run.fail(error)
        raise
    run.finish(_final_output(result))
    return result


def _run_streamed(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    found = _agent(args, kwargs)
    span = None if found is None else found[0]()
    if found is None or span is None:
        return wrapped(*args, **kwargs)
    enter(span)
    run = AgentRun(span, found[1])
    try:
        with run.current():
            result = wrapped(*args, **kwargs)
    except BaseException as error:
        run.fail(error)
        raise
    detach(span)  # the task that it has started has its own context, in which the run goes on
    _await_end(run, result)
    return result


def _await_end(run: AgentRun, result: Any) -> None:
    try:
        result.run_loop_task.add_done_callback(partial(_ended, run, result))
    except BaseException as error:  # noqa: BLE001 - the guard: another version
        let_through(error)
        swallowed("see when a streamed run of an agent ends", error)
        run.finish(None)


def _ended(run: AgentRun, result: Any, task: Any) -> None:
    raised = asyncio.CancelledError() if task.cancelled() else task.exception()
    if raised is not None:
        run.fail(raised)
    else:
        run.finish(_final_output(result))
