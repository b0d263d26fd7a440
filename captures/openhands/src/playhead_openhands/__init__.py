"""OpenHands SDK: its conversations, each a run or an agent of one, and its tools.

Models run over LiteLLM, whose calls Playhead records. The result of a tool is recorded as its text; where its
observation has more than that, as the observation's fields.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, cast

from playhead import propagate_to_thread
from playhead.capture_kit import (
    CapturedAgent,
    CapturedTool,
    Instrumentation,
    MethodCall,
    ToolResults,
    Wrap,
    agents,
    intercepted,
    tools,
)

SUPPORTS = "openhands-sdk >= 1.0"


class _Model(Protocol):
    """A pydantic model, as OpenHands' actions and observations are."""

    def model_dump(self, **options: object) -> dict[str, Any]: ...


class _RequestedTool(Protocol):
    """What the model asks for."""

    id: str
    arguments: str
    """JSON."""


class _ActionEvent(Protocol):
    tool_call: _RequestedTool
    action: object


class _CalledTool(Protocol):
    name: str
    annotations: Any
    observation_type: Any


_requested: ContextVar[_ActionEvent | None] = ContextVar("playhead_openhands_requested", default=None)
"""The event of the model's request, while its tool is executed."""


# --- conversations ----------------------------------------------------------------------------------------------------


def _read_conversation(called: MethodCall) -> CapturedAgent:
    conversation = called.client
    question = next(_messages_of(conversation, "user"), None)
    return CapturedAgent(type(conversation.agent).__name__, question, session=str(conversation.id))


def _answer(_: object, called: MethodCall) -> str | None:
    """Returns the last text of the agent, or what it gave to the tool `finish`."""
    return next(_messages_of(called.client, "agent"), None)


def _messages_of(conversation: Any, source: str) -> Iterator[str]:
    """Yields the texts of this source's messages, last first."""
    for event in reversed(list(conversation.state.events)):
        message = getattr(event, "llm_message", None)
        if message is not None and event.source == source:
            yield "".join(getattr(part, "text", "") for part in message.content)


# --- tools ------------------------------------------------------------------------------------------------------------


@intercepted
def _execute(function: Callable[..., object], called: MethodCall) -> object:
    """Wraps the method that executes the tool of one request, to know the model's request in it: a tool is only given
    its arguments."""
    event: _ActionEvent = called.argument(1, "action_event")
    token = _requested.set(event)
    try:
        return called.make(function)
    finally:
        _requested.reset(token)


@intercepted
def _execute_batch(function: Callable[..., object], called: MethodCall) -> object:
    """Passes the run on to the threads in which tools are executed, which the SDK does itself in newer versions."""
    if len(called.args) < 2 or not callable(called.args[1]):
        return called.make(function)
    events, runner, *more = called.args
    return function(events, propagate_to_thread(runner), *more, **called.kwargs)


def _read_tool(called: MethodCall) -> CapturedTool:
    tool: _CalledTool = called.client
    action: _Model = called.argument(0, "action")
    event = _requested.get()
    # A tool that this tool calls is no request of the model.
    request = event.tool_call if event is not None and event.action is action else None
    arguments = (
        action.model_dump(mode="json", exclude={"kind"}, exclude_unset=True)
        if request is None
        else json.loads(request.arguments)
    )
    idempotent = bool(getattr(tool.annotations, "readOnlyHint", False))
    return CapturedTool(tool.name, arguments, request and request.id, idempotent=idempotent)


def _to_record(observation: _Model) -> object:
    fields = observation.model_dump(mode="json")
    text = _text_of(fields)
    return fields if text is None else text


def _text_of(fields: Mapping[str, Any]) -> str | None:
    """Returns the text, if the observation has one text and nothing else."""
    match fields:
        case {"content": [{"type": "text", "text": str(text)}], "is_error": False, "kind": _} if len(fields) == 3:
            return text
        case _:
            return None


def _from_record(recorded: object, called: MethodCall) -> object:
    tool: _CalledTool = called.client
    if isinstance(recorded, Mapping):
        fields = cast("Mapping[str, object]", recorded)
        kind = tool.observation_type or _observation_class()
        return kind.model_validate(dict(fields))
    if tool.observation_type is None:
        raise ValueError(f"{tool.name} declares no type of observation: give the observation's fields")
    return tool.observation_type.from_text(str(recorded))


def _observation_class() -> Any:
    from openhands.sdk import Observation  # noqa: PLC0415 - the library is imported before a tool runs

    return Observation


def _error_in(observation: Any) -> str | None:
    if not observation.is_error:
        return None
    return "".join(getattr(part, "text", "") for part in cast("Sequence[object]", observation.content))


_CONVERSATION = "openhands.sdk.conversation.impl.local_conversation"
_EXECUTOR = "openhands.sdk.agent.parallel_executor"
_openhands = Instrumentation(
    [
        agents(_CONVERSATION, "LocalConversation.run", _read_conversation, _answer),
        agents(_CONVERSATION, "LocalConversation.arun", _read_conversation, _answer, optional=True),
        Wrap("openhands.sdk.agent.agent", "Agent._execute_action_event", _execute),
        Wrap(_EXECUTOR, "ParallelToolExecutor.execute_batch", _execute_batch, is_optional=True),
        Wrap(_EXECUTOR, "ParallelToolExecutor.aexecute_batch", _execute_batch, is_optional=True),
        tools(
            "openhands.sdk.tool.tool",
            "ToolDefinition.__call__",
            _read_tool,
            ToolResults(_to_record, _from_record, _error_in),
        ),
    ]
)
patch, unpatch = _openhands.patch, _openhands.unpatch
