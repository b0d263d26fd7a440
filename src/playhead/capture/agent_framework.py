"""Microsoft's Agent Framework: agents, also those that are tools of another one; workflows (and so its orchestrations,
with handoffs), their executors and steps; tools.  Models run on clients that are recorded themselves, such as `openai`.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, cast

from playhead.api import scope
from playhead.calls import functions
from playhead.calls.begin import begin as begin_span
from playhead.calls.lifecycle import abort, as_current, current_span, detach, enter, fail, finish, set_payload
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
    StartSpan,
    agent,
    begun,
    call_async,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
    with_span_async,
)
from playhead.capture.frameworks.tool_state import State, changes, make_again, plain_entries
from playhead.capture.patching import Instrumentation, Wrap, Wrapper, WrapSubclasses
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.compat.agent_framework import is_buffered
from playhead.model import names
from playhead.model.json_value import list_at, object_of

SUPPORTS = "agent-framework-core >= 1.3"


# --- what is read of the framework's objects --------------------------------------------------------------------------


class _AgentFrameworkContent(Protocol):
    """One part of a message or of a tool's result."""

    type: str
    text: str | None
    additional_properties: Mapping[str, object]

    def to_dict(self) -> dict[str, object]: ...


class _ArgumentsModel(Protocol):
    """An object of pydantic's."""

    def model_dump(self) -> dict[str, object]: ...


class _AgentFrameworkTool(Named, Protocol):
    func: object
    result_parser: object

    def parse_result(self, result: object) -> list[object]: ...


class _WorkflowExecutor(Protocol):
    id: str


class _WorkflowEvent(Protocol):
    type: str
    data: object


class _AgentFrameworkStream(Protocol):
    """An agent's or a workflow's stream, with the hooks that it has for telemetry."""

    def with_pull_context_manager(self, factory: Callable[[], AbstractContextManager[object]]) -> object: ...

    def with_result_hook(self, hook: Callable[[object], None]) -> object: ...

    def with_cleanup_hook(self, hook: Callable[[], None]) -> object: ...


# --- agents and workflows ---------------------------------------------------------------------------------------------

_starting: ContextVar[object] = ContextVar("playhead_agent_framework_starting", default=None)
"""The agent or workflow whose `run` is being called here.  That of a class calls that of the class above it."""


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan | None:
    """Returns None if another method of the same agent calls this one: the outer call is recorded already."""
    running: Named = called.client
    name, outer = str(running.name or type(running).__name__), current_span()
    if outer is not None and outer.kind == "agent" and outer.attributes.get(names.AGENT_NAME) == name:
        return None
    session: object = getattr(called.kwargs.get("session"), "session_id", None)
    return agent(name, _plain(called.argument(0, "messages")), session=session)


@log_errors_and_return_none
def _workflow(called: MethodCall) -> StartSpan:
    workflow: Named = called.client
    message: object = called.argument(0, "message")
    return agent(str(workflow.name), _plain(called.kwargs.get("responses") if message is None else message))


def _plain(value: object) -> object:
    """Returns the text of a message or of an answer, also in a list; any other value as it is."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("Sequence[object]", value)]
    text = getattr(value, "text", None)
    return text if isinstance(text, str) else value


@log_errors_and_return_none
def _output(result: object) -> object:
    """Returns the text of an agent's answer.  Of a workflow: its output, or a list of its outputs."""
    outputs: Callable[[], list[object]] | None = getattr(result, "get_outputs", None)
    if outputs is None:
        return _plain(result)
    match outputs():
        case [output]:
            return _plain(output)
        case several:
            return _plain(several)


def _recorded(read: Callable[[MethodCall], StartSpan | None]) -> Wrapper:
    """Returns the wrapper of a method that returns an awaitable, or with `stream=True` a stream."""

    def handle(function: Callable[..., Any], called: MethodCall) -> object:
        begin = None if _starting.get() is called.client else read(called)
        if begin is None:
            return called.make(function)
        token = _starting.set(called.client)
        try:
            made = called.make(function)
        finally:
            _starting.reset(token)
        if hasattr(made, "with_pull_context_manager"):
            _observe_stream(begin, made)
        elif not called.kwargs.get("stream"):
            return functions.call_async(begin, None, _with_output(made))
        return made

    return intercepted(handle)


async def _with_output(made: Awaitable[object]) -> object:
    result = await made
    span, output = current_span(), _output(result)
    if span is not None and output is not None:
        set_payload(span, names.OUTPUT_REF, output)
    return result


# --- streams of agents and workflows ----------------------------------------------------------------------------------


@log_errors_and_return_none
def _observe_stream(begin: StartSpan, stream: _AgentFrameworkStream) -> None:
    recording = _AgentFrameworkRun(begin, has_result=not is_buffered(stream))
    stream.with_pull_context_manager(recording.pull)
    if recording.has_result:
        stream.with_result_hook(recording.end)
    stream.with_cleanup_hook(recording.close)


class _AgentFrameworkRun:
    """One streamed run: begins when the first item is asked for, ends when the stream has its final response.

    The stream holds the only reference: if it is collected without being read to its end, `__del__` ends the span.
    """

    def __init__(self, begin: StartSpan, *, has_result: bool):
        """`has_result`: whether `end` will be called with the final response; else `close` ends the run."""
        self._begin: StartSpan | None = begin
        self._span: ObservedSpan | None = None
        self.has_result = has_result
        self.is_at_end = False

    def pull(self) -> AbstractContextManager[object]:
        """Context in which the stream asks for its next item."""
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self._span = begin()
            if self._span is not None:
                enter(self._span)
                detach(self._span)
        return nullcontext() if self._span is None else _CurrentInPull(self, self._span)

    def end(self, response: object) -> None:
        """Ends the run with the final response.  A stream that its reader has left has one, too: of its beginning."""
        span, self._span = self._span, None
        if span is not None:
            (finish if self.is_at_end else abort)(span, names.OUTPUT_REF, _output(response))

    def fail(self, raised: BaseException) -> None:
        """Ends the run with an error."""
        span, self._span = self._span, None
        if span is not None:
            fail(span, raised)

    def close(self) -> None:
        """Ends the run if its reader has left it before the end, or if no final response will be seen."""
        span = self._span
        if not self.is_at_end:
            self._leave()
        elif not self.has_result and span is not None:
            self._span = None
            finish(span)

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        span, self._span = self._span, None
        if span is not None:
            abort(span)


class _CurrentInPull:
    """Makes the run current while its stream asks for an item."""

    def __init__(self, recording: _AgentFrameworkRun, span: ObservedSpan):
        self._recording = recording
        self._current = as_current(span)

    def __enter__(self) -> None:
        self._current.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._current.__exit__(None, None, None)
        if isinstance(raised, StopAsyncIteration):
            self._recording.is_at_end = True
        elif raised is not None:
            self._recording.fail(raised)


# --- executors, steps and handoffs of workflows -----------------------------------------------------------------------


@log_errors_and_return_none
def _executor(called: MethodCall) -> StartSpan | None:
    """Returns None for the framework's own executors, such as the one that runs an agent."""
    running: _WorkflowExecutor = called.client
    kind = type(running)
    is_users = kind.__name__ == "FunctionExecutor" or not kind.__module__.startswith("agent_framework")
    return _step(running.id) if is_users and is_inside_run() else None


@log_errors_and_return_none
def _workflow_step(called: MethodCall) -> StartSpan | None:
    named: Named = called.client
    return _step(named.name) if is_inside_run() else None


def _step(name: object) -> StartSpan:
    return partial(begin_span, "step", str(name), attributes={names.GRAPH_NODE: str(name)})


def _end_step(span: ObservedSpan, result: object, _: MethodCall) -> None:
    finish(span, None if result is None else names.OUTPUT_REF, _output(result))


_call_executor = with_span_async(begun(_executor), _end_step)
_call_step = with_span_async(begun(_workflow_step), _end_step)


@intercepted
def _add_event(function: Callable[..., object], called: MethodCall) -> object:
    _note_handoff(called)
    return called.make(function)


@log_errors_and_return_none
def _note_handoff(called: MethodCall) -> None:
    event: _WorkflowEvent = called.argument(0, "event")
    target = getattr(event.data, "target", None) if event.type == "handoff_sent" else None
    if target is not None and is_inside_run():
        scope.handoff(str(target))


# --- tools ------------------------------------------------------------------------------------------------------------

_TOOLS = "agent_framework._tools"
_CONTENTS = "agent_framework.contents"


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    its_tool: _AgentFrameworkTool = called.client
    if not is_inside_run() or is_observed(its_tool.func):
        return None
    return tool(its_tool.name, _arguments(called), called.kwargs.get("tool_call_id"), is_agent=_runs_agent(its_tool))


def _arguments(called: MethodCall) -> Mapping[str, object]:
    given: _ArgumentsModel | Mapping[str, object] | None = called.kwargs.get("arguments")
    if given is None:
        given = getattr(called.kwargs.get("context"), "arguments", None)
    if given is None:
        own = {"arguments", "context", "tool_call_id", "skip_parsing"}
        return {name: value for name, value in called.kwargs.items() if name not in own}
    return dict(given) if isinstance(given, Mapping) else given.model_dump()


def _runs_agent(its_tool: _AgentFrameworkTool) -> bool:
    return str(getattr(its_tool.func, "__qualname__", "")).endswith(".as_tool.<locals>._agent_wrapper")


class _AgentFrameworkToolCall:
    """One call of a tool.

    Its result is recorded as a text if it is one text, else as the dictionaries of its contents.  A call that skips
    parsing returns what the tool's function returns: that is recorded as it is.  What the tool changes in the session's
    state is recorded with the result, and changed again when the record answers the call.
    """

    def __init__(self, function: Callable[..., Awaitable[object]], called: MethodCall):
        self._function = function
        self._called = called
        self._has_run = False
        self._result: object = None

    async def record(self, begin: StartSpan) -> object:
        """Calls the tool and returns its result, recorded; or returns the recorded result."""
        recorded = await call_async(begin, self._run(), names.TOOL_RESULT_REF)
        return self._result if self._has_run else self._restored(recorded)

    async def _run(self) -> object:
        before = plain_entries(_state(self._called))
        self._result = await self._called.make(self._function)
        self._has_run = True
        result = self._result if self._is_unparsed() else _plain_contents(self._result)
        changed = changes(before, _state(self._called))
        return {"result": result, _STATE: changed} if changed else result

    def _is_unparsed(self) -> bool:
        skip = getattr(sys.modules.get(_TOOLS), "SKIP_PARSING", None)
        return bool(self._called.kwargs.get("skip_parsing")) or self._called.client.result_parser is skip

    def _restored(self, recorded: object) -> object:
        fields = object_of(recorded)
        if _STATE in fields:
            make_again(fields[_STATE], _state(self._called))
            recorded = fields.get("result")
        return recorded if self._is_unparsed() else _contents(self._called.client, recorded)


_STATE = "context.session.state"


def _state(called: MethodCall) -> State:
    """Returns the state of the session that the tool can reach; an empty dictionary if it can reach none."""
    state = getattr(getattr(called.kwargs.get("context"), "session", None), "state", None)
    return cast("State", state) if isinstance(state, dict) else {}


def _plain_contents(result: object) -> object:
    if not isinstance(result, list):
        return result
    contents = cast("list[_AgentFrameworkContent]", result)
    if len(contents) == 1 and contents[0].type == "text" and not contents[0].additional_properties:
        return contents[0].text
    return {_CONTENTS: [content.to_dict() for content in contents]}


def _contents(its_tool: _AgentFrameworkTool, recorded: object) -> object:
    """Returns the contents of a recorded result, or of one that a person set."""
    fields = object_of(recorded)
    if _CONTENTS not in fields:
        return its_tool.parse_result(recorded)
    load: Callable[[object], object] = import_module("agent_framework").Content.from_dict
    return [load(content) for content in list_at(fields, _CONTENTS)]


@intercepted
def _invoke_tool(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    begin = _tool(called)
    return called.make(function) if begin is None else _AgentFrameworkToolCall(function, called).record(begin)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_WORKFLOWS = "agent_framework._workflows"
_agent_framework = Instrumentation(
    [
        WrapSubclasses("agent_framework._agents", "BaseAgent", {"run": _recorded(_agent)}),
        Wrap(_TOOLS, "FunctionTool.invoke", _invoke_tool),
        Wrap(f"{_WORKFLOWS}._workflow", "Workflow.run", _recorded(_workflow)),
        Wrap(f"{_WORKFLOWS}._executor", "Executor.execute", _call_executor),
        Wrap(f"{_WORKFLOWS}._workflow_context", "WorkflowContext.add_event", _add_event),
        Wrap(f"{_WORKFLOWS}._functional", "FunctionalWorkflow.run", _recorded(_workflow), is_optional=True),
        Wrap(f"{_WORKFLOWS}._functional", "StepWrapper.__call__", _call_step, is_optional=True),
    ]
)
patch, unpatch = _agent_framework.patch, _agent_framework.unpatch
