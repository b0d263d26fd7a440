"""Google's Agent Development Kit: agents, transfers between them, and tools of every class. Models run on instrumented
clients.

A runner's call is the run of its root agent, which has the span of the run. Every other agent, a sub-agent or one that
the root agent transfers to, has a span of its own inside.

A tool may also change what its agent does next: the session's state, which agent goes on, whether a person has to
confirm. These changes are recorded with the result, as `tool_context.actions`, and made again when the record answers
the call.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping
from contextvars import ContextVar
from typing import Protocol

from playhead.api.log_events import log_event_of
from playhead.calls.functions import NO_RESULT, EventStreamReader, iterate_async
from playhead.calls.lifecycle import current_span
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
    StartSpan,
    agent,
    call_async,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    record_returned,
    tool,
)
from playhead.capture.patching import Instrumentation, Wrap, WrapSubclasses
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, object_at, object_of

SUPPORTS = "google-adk >= 2.0"


# --- what is read of the framework's objects --------------------------------------------------------------------------


class _AdkRunner(Protocol):
    agent: object
    app_name: str


class _AdkSession(Protocol):
    id: str


class _ParentContext(Protocol):
    user_content: object

    @property
    def session(self) -> _AdkSession: ...


class _AdkPart(Protocol):
    text: str | None
    thought: bool | None


class _EventActions(Protocol):
    """An object of pydantic's."""

    transfer_to_agent: str | None

    def model_dump(self, *, mode: str) -> Json: ...

    def model_validate(self, values: JsonMapping) -> object: ...


class _AdkEvent(Protocol):
    author: str
    content: object

    @property
    def actions(self) -> _EventActions: ...

    def is_final_response(self) -> bool: ...


class _AdkToolContext(Protocol):
    function_call_id: str | None
    state: MutableMapping[str, object]

    @property
    def actions(self) -> _EventActions: ...


# --- agents -----------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_run(called: MethodCall) -> "tuple[StartSpan, EventStreamReader]":
    runner: _AdkRunner = called.client
    name = str(getattr(runner.agent, "name", None) or runner.app_name)
    return _agent_span(name, called.kwargs.get("new_message"), called.kwargs.get("session_id"))


@log_errors_and_return_none
def _begin_agent(called: MethodCall) -> "tuple[StartSpan, EventStreamReader] | None":
    starting: Named = called.client
    name, around = str(starting.name), current_span()
    if around is not None and around.kind == "agent" and around.attributes.get(names.AGENT_NAME) == name:
        return None  # the root agent, whose run this is
    context: _ParentContext = called.argument(0, "parent_context")
    return _agent_span(name, context.user_content, context.session.id)


def _agent_span(name: str, user_content: object, session: object) -> "tuple[StartSpan, EventStreamReader]":
    begin = agent(name, _content_text(user_content), session=session)
    reader = EventStreamReader(
        lambda span, event: _event_result(span, event, name), lambda _: []
    )  # no agent has a recorded answer
    return begin, reader


def _event_result(span: ObservedSpan, event: _AdkEvent, name: str) -> object:
    answer = _read_event(span, event, name)
    return NO_RESULT if answer is None else answer


@log_errors_and_return_none
def _read_event(span: ObservedSpan, event: _AdkEvent, name: str) -> str | None:
    """Records a transfer by this agent.  Returns the text of a final answer, else None.  Events of inner agents pass
    here, too."""
    to = event.actions.transfer_to_agent
    if to and event.author == name:
        log_event_of(span, names.HANDOFF, {names.HANDOFF_TO: str(to)}, {})
    return _content_text(event.content) if event.is_final_response() else None


def _content_text(content: object) -> str | None:
    parts: Iterable[_AdkPart] = getattr(content, "parts", None) or ()
    texts = [part.text for part in parts if part.text and not part.thought]
    return "".join(texts) if texts else None


def _stream_agent(
    begin_and_reader: "tuple[StartSpan, EventStreamReader]", events: AsyncGenerator[object, object]
) -> object:
    begin, reader = begin_and_reader
    return iterate_async(begin, names.OUTPUT_REF, events, reader)


# --- tools ------------------------------------------------------------------------------------------------------------

_ACTIONS = "tool_context.actions"
_OWN_IDS = "adk-"  # prefix of the ids of calls without an id from the model: not sent to it, different in each run
_current_call: ContextVar[object] = ContextVar("playhead_google_adk_call", default=None)


@log_errors_and_return_none
def _begin_tool(called: MethodCall) -> StartSpan | None:
    its_tool: Named = called.client
    context: _AdkToolContext = called.kwargs["tool_context"]
    if not is_inside_run() or is_observed(getattr(its_tool, "func", None)):
        return None
    if context is _current_call.get():  # the same call again: a class's method calls that of the class above it
        return None
    call_id = str(context.function_call_id or "")
    is_agent = any(kind.__name__ == "AgentTool" for kind in type(its_tool).__mro__)
    own_id = "" if call_id.startswith(_OWN_IDS) else call_id
    return tool(str(its_tool.name), called.kwargs["args"], own_id, is_agent=is_agent)


class _AdkToolCall:
    """One call of a tool."""

    def __init__(self, function: Callable[..., Awaitable[object]], called: MethodCall):
        self._context: _AdkToolContext = called.kwargs["tool_context"]
        self._function = function
        self._called = called
        self._has_run = False
        self._result: object = None

    async def record(self, begin: StartSpan) -> object:
        """Calls the tool and returns its result, recorded; or returns the recorded result."""
        recorded = await call_async(begin, self._run(), names.TOOL_RESULT_REF)
        return self._result if self._has_run else _restored_result(recorded, self._context)

    async def _run(self) -> object:
        before = _read_actions(self._context)
        token = _current_call.set(self._context)
        try:
            self._result = result = await self._called.make(self._function)
        finally:
            _current_call.reset(token)
        self._has_run = True
        after = _read_actions(self._context) or {}
        changed = {name: value for name, value in after.items() if before is None or value != before.get(name)}
        return {"result": result, _ACTIONS: changed} if changed else result


@log_errors_and_return_none
def _read_actions(context: _AdkToolContext) -> Json:
    return context.actions.model_dump(mode="json")


def _restored_result(recorded: object, context: _AdkToolContext) -> object:
    """Makes the recorded changes of the tool again, and returns its result."""
    fields = object_of(recorded)
    if _ACTIONS not in fields:
        return recorded
    _change_actions(context, object_at(fields, _ACTIONS))
    return fields.get("result")


@log_errors_and_return_none
def _change_actions(context: _AdkToolContext, changed: Json) -> None:
    actions = context.actions
    for name, value in changed.items():
        if name == "state_delta":
            context.state.update(object_of(value))
        else:
            setattr(actions, name, getattr(actions.model_validate({name: value}), name))


@intercepted
def _run_tool_async(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    begin = _begin_tool(called)
    if begin is None:
        return called.make(function)
    return _AdkToolCall(function, called).record(begin)


TOOLS = (WrapSubclasses("google.adk.tools.base_tool", "BaseTool", {"run_async": _run_tool_async}),)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_google_adk = Instrumentation(
    [
        Wrap("google.adk.runners", "Runner.run_async", record_returned(_begin_run, _stream_agent)),
        Wrap("google.adk.agents.base_agent", "BaseAgent.run_async", record_returned(_begin_agent, _stream_agent)),
        *TOOLS,
    ]
)
patch, unpatch = _google_adk.patch, _google_adk.unpatch
