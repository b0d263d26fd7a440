"""Agno: its agents, teams and workflows, their tools, and the tasks that a team hands to its members. Models run on
clients that are recorded themselves, such as `openai`.

A tool may also change the session's state (`run_context.session_state`). These changes are recorded with its result,
and made again when the record answers the call. The framework's own tools by which a team or a workflow runs its
members have no span: they change what the framework knows of the run, so they run again on resume, and only the
members' calls are answered from the record.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from concurrent.futures import Executor
from copy import deepcopy
from functools import partial
from importlib import import_module
from typing import Any, Protocol

import wrapt

from playhead.api import scope
from playhead.api.scope import propagate_to_thread
from playhead.calls import functions
from playhead.calls.functions import iterate_async
from playhead.calls.lifecycle import current_span, detach, finish, set_payload
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    begun,
    call,
    call_async,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    note_returned_error,
    tool,
    with_span,
    with_span_async,
)
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import list_at, object_of

SUPPORTS = "agno >= 2.3.20"


# --- what is read of the framework's objects --------------------------------------------------------------------------


class _AgnoRunner(Protocol):
    """An agent, a team or a workflow."""

    name: str | None
    stream: bool | None
    session_id: str | None
    background_executor: Executor


class _AgnoFunction(Protocol):
    """A tool."""

    name: str
    entrypoint: Callable[..., object]
    _run_context: object


class _AgnoFunctionCall(Protocol):
    """A call of a tool that a model asked for."""

    function: _AgnoFunction
    arguments: Mapping[str, object] | None
    call_id: str | None
    result: object
    error: str | None


class _AgnoExecution(Protocol):
    """What came of the call of a tool."""

    status: str
    result: object
    error: str | None


# --- agents, teams, workflows -----------------------------------------------------------------------------------------


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan:
    runner: _AgnoRunner = called.client
    session: object = called.kwargs.get("session_id") or runner.session_id
    return agent(runner.name or type(runner).__name__, _input(called.argument(0, "input")), session=session)


def _input(value: object) -> object:
    """Returns the text of a message, any other value as it is. A run that goes on after a person's answer has none."""
    return getattr(value, "content", value)


@log_errors_and_return_none
def _is_streamed(called: MethodCall) -> bool:
    runner: _AgnoRunner = called.client
    asked: bool | None = called.kwargs.get("stream")
    return bool(runner.stream if asked is None else asked)


def _content(output: object) -> object:
    return getattr(output, "content", None)


def _finish_agent(span: ObservedSpan, output: object, _: MethodCall) -> None:
    """Ends an agent's call. The framework returns an error of the model as the output."""
    if getattr(getattr(output, "status", None), "value", None) == "ERROR":
        note_returned_error(_content(output))
    detach(span)
    finish(span, names.OUTPUT_REF, _content(output))


_run_plain = with_span(begun(_agent), _finish_agent)
_run_awaited = with_span_async(begun(_agent), _finish_agent)


class _StreamedOutput:
    """The output of an agent whose events are streamed: texts, or an object in one of the last events."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._last: object = None

    @log_errors_and_return_none
    def add(self, event: object) -> None:
        """Reads an event. Events of a team's members pass through the team's stream, too."""
        span, content = current_span(), _content(event)
        if content is None or type(event).__name__ not in _OUTPUT_EVENTS or span is None:
            return
        owners = {getattr(event, name, None) for name in ("agent_name", "team_name", "workflow_name")} - {None, ""}
        if owners and span.attributes.get(names.AGENT_NAME) not in owners:
            return
        if isinstance(content, str) and type(event).__name__ == "RunContentEvent":
            self._texts.append(content)
        else:
            self._last = content

    @log_errors_and_return_none
    def record(self) -> None:
        """Records the output, with the current call."""
        span, text = current_span(), "".join(self._texts)
        if span is not None and (text or self._last is not None):
            set_payload(span, names.OUTPUT_REF, text if self._last is None else self._last)


_OUTPUT_EVENTS = {"RunContentEvent", "RunCompletedEvent", "WorkflowCompletedEvent"}


def _with_output(events: Generator[object]) -> Generator[object]:
    """Yields the events of an agent, and records its output."""
    output = _StreamedOutput()
    try:
        for event in events:
            output.add(event)
            yield event
    finally:
        output.record()
        events.close()


async def _with_output_async(events: AsyncGenerator[object]) -> AsyncGenerator[object]:
    """The same, asynchronous."""
    output = _StreamedOutput()
    try:
        async for event in events:
            output.add(event)
            yield event
    finally:
        output.record()
        await events.aclose()


@intercepted
def _run(function: Callable[..., Any], called: MethodCall) -> object:
    if not _is_streamed(called):
        return _run_plain(function, called.client, called.args, called.kwargs)
    begin = _agent(called)
    events: Generator[object] = called.make(function)
    if begin is None or not inspect.isgenerator(events):
        return events
    return functions.iterate(begin, None, _with_output(events))


@intercepted
def _arun(function: Callable[..., Any], called: MethodCall) -> object:
    if not _is_streamed(called):
        return _run_awaited(function, called.client, called.args, called.kwargs)
    begin = _agent(called)
    events: AsyncGenerator[object] = called.make(function)
    if begin is None or not inspect.isasyncgen(events):
        return events
    return iterate_async(begin, None, _with_output_async(events))


class _PropagatingExecutor:
    """Passes the current run on to the threads of an executor."""

    def __init__(self, executor: Executor):
        self._executor = executor

    def submit(self, function: Callable[..., object], *args: object, **kwargs: object) -> object:
        """As the executor's method. The function gets the agent or team itself, if that is an argument."""
        own = [arg.runner if isinstance(arg, _InBackground) else arg for arg in args]
        return self._executor.submit(propagate_to_thread(function), *own, **kwargs)


class _InBackground(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """An agent or a team whose executor passes the current run on."""

    def __init__(self, runner: _AgnoRunner):
        super().__init__(runner)  # pyright: ignore[reportUnknownMemberType]
        self._self_runner = runner

    @property
    def runner(self) -> _AgnoRunner:
        """The agent or team itself."""
        return self._self_runner

    @property
    def background_executor(self) -> _PropagatingExecutor:
        """The executor in which the framework makes memories while the agent answers."""
        return _PropagatingExecutor(self._self_runner.background_executor)


@intercepted
def _start_in_background(function: Callable[..., object], called: MethodCall) -> object:
    """Makes the calls of models for memories calls of the run, though the framework makes them in a thread."""
    if not called.args or not is_inside_run():
        return called.make(function)
    return function(_InBackground(called.args[0]), *called.args[1:], **called.kwargs)


@intercepted
def _start_own_in_background(function: Callable[..., object], called: MethodCall) -> object:
    """The same, for the methods that start these threads before Agno 2.5."""
    if not is_inside_run() or not inspect.ismethod(function):
        return called.make(function)
    return function.__func__(_InBackground(called.client), *called.args, **called.kwargs)


# --- tools ------------------------------------------------------------------------------------------------------------

_STATE, _ERROR = "run_context.session_state", "function_call.error"
_RUNS_MEMBERS = ("agno.team.", "agno.workflow.")
"""Modules of the framework's own tools that run agents."""


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    function_call: _AgnoFunctionCall = called.client
    function, arguments = function_call.function, function_call.arguments or {}
    if not is_inside_run() or is_observed(function.entrypoint):
        return None
    if str(getattr(function.entrypoint, "__module__", "")).startswith(_RUNS_MEMBERS):
        if member := arguments.get("member_id"):
            scope.handoff(str(member))
        return None
    return tool(function.name, arguments, function_call.call_id)


class _AgnoToolCall:
    """One call of a tool."""

    def __init__(self, called: MethodCall):
        self._call: _AgnoFunctionCall = called.client
        self._execution: Any = None

    def run(self, function: Callable[..., _AgnoExecution]) -> object:
        """Calls the tool; returns what is recorded of the result."""
        before = _copied_state(self._call)
        return self._recorded(function(), before)

    async def run_async(self, function: Callable[..., Awaitable[_AgnoExecution]]) -> object:
        """The same, awaited."""
        before = _copied_state(self._call)
        return self._recorded(await function(), before)

    def result(self, recorded: object) -> object:
        """Returns the framework's result: of the call that was made, else for the recorded one."""
        return _execution(self._call, recorded) if self._execution is None else self._execution

    def note_raised(self, raised: BaseException) -> None:
        """Notes what the call raises as the framework does.  It passes on what ends a run or asks the model again."""
        if self._call.error is None and isinstance(raised, import_module("agno.exceptions").AgentRunException):
            self._call.error = str(raised)

    def _recorded(self, execution: _AgnoExecution, before: object) -> object:
        self._execution = execution
        changed = _changed_state(self._call, before) or {}
        if execution.status == "failure":
            note_returned_error(execution.error)
            return {_ERROR: execution.error, **changed}
        return {"result": execution.result, **changed} if changed else execution.result


def _state(function_call: _AgnoFunctionCall) -> object:
    run_context: object = getattr(function_call.function, "_run_context", None)
    return getattr(run_context, "session_state", None)


@log_errors_and_return_none
def _copied_state(function_call: _AgnoFunctionCall) -> object:
    return deepcopy(_state(function_call))


@log_errors_and_return_none
def _changed_state(function_call: _AgnoFunctionCall, before: object) -> dict[str, object]:
    """Returns what the tool has set in the session's state, and the keys that it removed; empty: nothing."""
    then, now = object_of(before), object_of(_state(function_call))
    added = {key: value for key, value in now.items() if key not in then or then[key] != value}
    removed = [key for key in then if key not in now]
    return {_STATE: {"set": added, "removed": removed}} if added or removed else {}


def _execution(function_call: _AgnoFunctionCall, recorded: object) -> object:
    """Makes the recorded changes of the tool again, and returns its result as the framework has it."""
    fields = object_of(recorded)
    result, error = recorded, fields.get(_ERROR)
    if _STATE in fields:
        _change_state(function_call, fields)
        result = fields.get("result")
    make: Callable[..., object] = import_module("agno.tools.function").FunctionExecutionResult
    if isinstance(error, str):
        function_call.error = error
        return make(status="failure", error=error)
    function_call.result = result
    state = _state(function_call)
    return make(status="success", result=result, updated_session_state=state if isinstance(state, dict) else None)


@log_errors_and_return_none
def _change_state(function_call: _AgnoFunctionCall, recorded: Mapping[str, object]) -> None:
    state, changed = object_of(_state(function_call)), object_of(recorded[_STATE])
    state.update(object_of(changed.get("set")))
    for key in list_at(changed, "removed"):
        state.pop(str(key), None)


def _gives_items(called: MethodCall) -> bool:
    """Whether the tool is a generator: its items together are its result."""
    function_call: _AgnoFunctionCall = called.client
    function = inspect.unwrap(function_call.function.entrypoint)
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _with_items(begin: StartSpan, called: MethodCall, execution: _AgnoExecution) -> object:
    """Replaces the generator in the result by one that records its items, or gives the recorded ones."""
    function_call: _AgnoFunctionCall = called.client
    made = execution.result
    if inspect.isgenerator(made):
        function_call.result = execution.result = functions.iterate(begin, names.TOOL_RESULT_REF, made)
    elif inspect.isasyncgen(made):
        function_call.result = execution.result = iterate_async(begin, names.TOOL_RESULT_REF, made)
    return execution


@intercepted
def _execute(function: Callable[..., Any], called: MethodCall) -> object:
    begin = _tool(called)
    if begin is None:
        return called.make(function)
    if _gives_items(called):
        return _with_items(begin, called, called.make(function))
    its_call = _AgnoToolCall(called)
    try:
        return its_call.result(call(begin, names.TOOL_RESULT_REF, partial(its_call.run, function), called))
    except Exception as error:
        its_call.note_raised(error)
        raise


@intercepted
async def _aexecute(function: Callable[..., Any], called: MethodCall) -> object:
    begin = _tool(called)
    if begin is None:
        return await called.make(function)
    if _gives_items(called):
        return _with_items(begin, called, await called.make(function))
    its_call = _AgnoToolCall(called)
    try:
        return its_call.result(await call_async(begin, its_call.run_async(function), names.TOOL_RESULT_REF))
    except Exception as error:
        its_call.note_raised(error)
        raise


# --- what is wrapped --------------------------------------------------------------------------------------------------

_RUNNERS = (("agno.agent.agent", "Agent"), ("agno.team.team", "Team"), ("agno.workflow.workflow", "Workflow"))

_IN_BACKGROUND = (
    ("agno.agent._managers", "start_memory_future"),
    ("agno.agent._managers", "start_learning_future"),
    ("agno.team._managers", "_start_memory_future"),
    ("agno.team._managers", "_start_learning_future"),
)
# Before Agno 2.5.
_OWN_IN_BACKGROUND = (
    ("agno.agent.agent", "Agent._start_memory_future"),
    ("agno.agent.agent", "Agent._start_learning_future"),
    ("agno.agent.agent", "Agent._start_cultural_knowledge_future"),
    ("agno.team.team", "Team._start_memory_future"),
    ("agno.team.team", "Team._start_learning_future"),
)

_agno = Instrumentation(
    [
        *(Wrap(module, f"{kind}.{name}", _run) for module, kind in _RUNNERS for name in ("run", "continue_run")),
        *(Wrap(module, f"{kind}.{name}", _arun) for module, kind in _RUNNERS for name in ("arun", "acontinue_run")),
        *(Wrap(module, name, _start_in_background, is_optional=True) for module, name in _IN_BACKGROUND),
        *(Wrap(module, name, _start_own_in_background, is_optional=True) for module, name in _OWN_IN_BACKGROUND),
        Wrap("agno.tools.function", "FunctionCall.execute", _execute),
        Wrap("agno.tools.function", "FunctionCall.aexecute", _aexecute),
    ]
)
patch, unpatch = _agno.patch, _agno.unpatch
