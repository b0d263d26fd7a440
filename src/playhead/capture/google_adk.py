"""Google's Agent Development Kit: agents, transfers between them, and tools of every class. Models run on instrumented
clients.

A runner's call is the run of its root agent, which has the span of the run. Every other agent, a sub-agent or one that
the root agent transfers to, has a span of its own inside.

A tool may also change what its agent does next: the session's state, which agent goes on, whether a person has to
confirm. These changes are recorded with the result, as `tool_context.actions`, and made again when the record answers
the call.
"""

from contextvars import ContextVar
from typing import Any, cast

from playhead.api.log_events import log_event_of
from playhead.calls.functions import NO_RESULT, EventStreamReader, iterate_async
from playhead.calls.lifecycle import current_span
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
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
from playhead.model import names

SUPPORTS = "google-adk >= 2.0"


# --- agents -----------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_run(instance: Any, _: Any, kwargs: Any) -> "tuple[StartSpan, EventStreamReader]":
    name = str(getattr(instance.agent, "name", None) or instance.app_name)
    return _agent_span(name, kwargs.get("new_message"), kwargs.get("session_id"))


@log_errors_and_return_none
def _begin_agent(instance: Any, args: Any, kwargs: Any) -> "tuple[StartSpan, EventStreamReader] | None":
    name, around = str(instance.name), current_span()
    if around is not None and around.kind == "agent" and around.attributes.get(names.AGENT_NAME) == name:
        return None  # the root agent, whose run this is
    context: Any = args[0] if args else kwargs["parent_context"]
    return _agent_span(name, context.user_content, context.session.id)


def _agent_span(name: str, user_content: Any, session: Any) -> "tuple[StartSpan, EventStreamReader]":
    begin = agent(name, _content_text(user_content), session=session)
    reader = EventStreamReader(
        lambda span, event: _event_result(span, event, name), lambda _: []
    )  # no agent has a recorded answer
    return begin, reader


def _event_result(span: ObservedSpan, event: Any, name: str) -> Any:
    answer = _read_event(span, event, name)
    return NO_RESULT if answer is None else answer


@log_errors_and_return_none
def _read_event(span: ObservedSpan, event: Any, name: str) -> Any:
    """Records a transfer by this agent.  Returns the text of a final answer, else None.  Events of inner agents pass
    here, too."""
    to = event.actions.transfer_to_agent
    if to and event.author == name:
        log_event_of(span, names.HANDOFF, {names.HANDOFF_TO: str(to)}, {})
    return _content_text(event.content) if event.is_final_response() else None


def _content_text(content: Any) -> str | None:
    texts = [part.text for part in getattr(content, "parts", None) or () if part.text and not part.thought]
    return "".join(texts) if texts else None


def _stream_agent(begin_and_reader: "tuple[StartSpan, EventStreamReader]", events: Any) -> Any:
    begin, reader = begin_and_reader
    return iterate_async(begin, names.OUTPUT_REF, events, reader)


# --- tools ------------------------------------------------------------------------------------------------------------

_ACTIONS = "tool_context.actions"
_OWN_IDS = "adk-"  # prefix of the ids of calls without an id from the model: not sent to it, different in each run
_current_call: ContextVar[Any] = ContextVar("playhead_google_adk_call", default=None)


@log_errors_and_return_none
def _begin_tool(instance: Any, kwargs: Any) -> StartSpan | None:
    context = kwargs["tool_context"]
    if not is_inside_run() or is_observed(getattr(instance, "func", None)):
        return None
    if context is _current_call.get():  # the same call again: a class's method calls that of the class above it
        return None
    call_id = str(context.function_call_id or "")
    is_agent = any(kind.__name__ == "AgentTool" for kind in type(instance).__mro__)
    return tool(str(instance.name), kwargs["args"], "" if call_id.startswith(_OWN_IDS) else call_id, is_agent=is_agent)


class _AdkToolCall:
    """One call of a tool."""

    def __init__(self, context: Any, wrapped: Any, args: Any, kwargs: Any):
        self._context = context
        self._made = lambda: wrapped(*args, **kwargs)
        self._has_run = False
        self._result: Any = None

    async def record(self, begin: StartSpan) -> Any:
        """Calls the tool and returns its result, recorded; or returns the recorded result."""
        recorded = await call_async(begin, self._run(), names.TOOL_RESULT_REF)
        return self._result if self._has_run else _restored_result(recorded, self._context)

    async def _run(self) -> Any:
        before = _read_actions(self._context)
        token = _current_call.set(self._context)
        try:
            self._result = result = await self._made()
        finally:
            _current_call.reset(token)
        self._has_run = True
        after = _read_actions(self._context) or {}
        changed = {name: value for name, value in after.items() if before is None or value != before.get(name)}
        return {"result": result, _ACTIONS: changed} if changed else result


@log_errors_and_return_none
def _read_actions(context: Any) -> dict[str, Any]:
    return context.actions.model_dump(mode="json")


def _restored_result(recorded: Any, context: Any) -> Any:
    """Makes the recorded changes of the tool again, and returns its result."""
    if not isinstance(recorded, dict) or _ACTIONS not in recorded:
        return cast(Any, recorded)
    fields = cast("dict[str, Any]", recorded)
    _change_actions(context, fields[_ACTIONS])
    return fields.get("result")


@log_errors_and_return_none
def _change_actions(context: Any, changed: dict[str, Any]) -> None:
    actions: Any = context.actions
    kind = cast(Any, type(actions))
    for name, value in changed.items():
        if name == "state_delta":
            context.state.update(value)
        else:
            setattr(actions, name, getattr(kind.model_validate({name: value}), name))


def _run_tool_async(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _begin_tool(instance, kwargs)
    if begin is None:
        return wrapped(*args, **kwargs)
    return _AdkToolCall(kwargs["tool_context"], wrapped, args, kwargs).record(begin)


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
