"""AG2 1.x: agents, also those that are tools or sub-tasks of another one, tools, and handoffs that a tool decides.

Models run on clients that are recorded themselves, such as `openai`; tools of MCP servers are the calls of `mcp` inside
of the tool that AG2 makes of each.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any, Protocol, cast

from playhead.api import scope
from playhead.calls import functions
from playhead.calls.lifecycle import current_span, note_error, set_payload
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
from playhead.capture.frameworks.tool_state import State, changes, make_again, plain_entries
from playhead.capture.patching import Instrumentation, Wrap, WrapSubclasses
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import Json, object_of, objects_at

SUPPORTS = "ag2 >= 1.0"


# --- what is read of the framework's objects --------------------------------------------------------------------------


class _ToolCallEvent(Protocol):
    """The model's request."""

    id: str
    name: str
    arguments: object

    @property
    def serialized_arguments(self) -> Mapping[str, object]: ...


class _ToolResult(Protocol):
    parts: Sequence[object]
    final: bool
    metadata: Mapping[str, object]


class _ToolResultEvent(Protocol):
    """The answer to the model's request; one of a failed tool has an `error`, and its traceback as the result."""

    result: _ToolResult


class _ResultEvents(Protocol):
    """A class of such events."""

    def from_call(self, call: _ToolCallEvent, result: object) -> object: ...

    def __call__(self, *, parent_id: str, name: str, error: Exception, result: object) -> object: ...


# --- agents -----------------------------------------------------------------------------------------------------------

_Drive = Callable[[], Awaitable[object]]


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan:
    running: Named = called.client
    return agent(str(running.name), _asked(called.argument(0, "event")))


def _asked(event: object) -> object:
    """Returns the text of a request, or its parts; None for an event that continues a turn."""
    parts: Sequence[object] | None = getattr(event, "parts", None)
    if parts is None:
        return None
    plain = [_plain_part(part) for part in parts]
    return plain[0] if len(plain) == 1 else plain


def _observe_turn(begin: StartSpan, turn: AbstractAsyncContextManager[_Drive]) -> object:
    return _turn(begin, turn)


@asynccontextmanager
async def _turn(begin: StartSpan, turn: AbstractAsyncContextManager[_Drive]) -> AsyncGenerator[_Drive]:
    """The scope of an agent's turn, which yields the function that drives it: the agent is what happens in there."""
    async with turn as drive:
        yield partial(_drive, begin, drive)


async def _drive(begin: StartSpan, drive: _Drive) -> object:
    return await functions.call_async(begin, None, _with_output(drive))


async def _with_output(drive: _Drive) -> object:
    reply = await drive()
    span, body = current_span(), getattr(reply, "body", None)
    if span is not None and body is not None:
        set_payload(span, names.OUTPUT_REF, body)
    return reply


# --- tools ------------------------------------------------------------------------------------------------------------

_PARTS, _ERROR, _VARIABLES = "ag2.parts", "ag2.error", "ag2.variables"
_RUNS_AGENTS = ("subagent_tool.", "_build_subtask_toolkit.")
"""Beginnings of the names of the framework's own functions that run agents."""
_KINDS = ("TextInput", "DataInput", "BinaryInput", "FileIdInput", "UrlInput")
"""Classes of a result's parts."""


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    event: _ToolCallEvent = called.argument(0, "event")
    around, function = current_span(), getattr(getattr(called.client, "model", None), "call", None)
    if around is None or is_observed(function) or type(called.client).__name__ == "ClientTool":
        return None
    if around.kind == "tool" and around.attributes.get(names.TOOL_CALL_ID) == event.id:
        return None  # the method of the class above
    is_agent = str(getattr(function, "__qualname__", "")).startswith(_RUNS_AGENTS)
    return tool(event.name, _arguments(event), event.id, is_agent=is_agent)


def _arguments(event: _ToolCallEvent) -> Mapping[str, object]:
    """Returns the arguments by name. If the model wrote no JSON object, that text: the framework then tells it so."""
    try:
        return dict(event.serialized_arguments)
    except (TypeError, ValueError):
        return {"arguments": event.arguments}


class _Ag2ToolCall:
    """One call of a tool.

    Its result is recorded as the text or the data if it is one, else as its parts.  The framework sends the traceback
    of a tool's error to the model: that text is recorded, and given back on resume with a RuntimeError of its message.
    What the tool changes in the context's variables is recorded as well, and changed again.
    """

    def __init__(self, function: Callable[..., Awaitable[object]], called: MethodCall):
        self._function = function
        self._called = called
        self._variables: State = getattr(called.argument(1, "context"), "variables", {})
        self._answer: object = None

    async def record(self, begin: StartSpan) -> object:
        """Calls the tool and returns its event, recorded; or returns an event with the recorded result."""
        recorded = await call_async(begin, self._run(), names.TOOL_RESULT_REF)
        return self._answered(recorded) if self._answer is None else self._answer

    async def _run(self) -> object:
        before = plain_entries(self._variables)
        self._answer = await self._called.make(self._function)
        read = _read_answer(cast("_ToolResultEvent", self._answer))
        result = self._answer if read is None else read[0]
        changed = changes(before, self._variables)
        return {"result": result, _VARIABLES: changed} if changed else result

    def _answered(self, recorded: object) -> object:
        fields = object_of(recorded)
        if _VARIABLES in fields:
            make_again(fields[_VARIABLES], self._variables)
            recorded = fields.get("result")
        return _event(self._called.argument(0, "event"), recorded)


@log_errors_and_return_none
def _read_answer(answer: _ToolResultEvent) -> tuple[object]:
    """Returns what is recorded of a tool's event."""
    result, raised = answer.result, getattr(answer, "error", None)
    if isinstance(raised, Exception):
        span = current_span()
        if span is not None:
            note_error(span, raised)
        return ({_ERROR: {"message": str(raised), "text": _plain_part(result.parts[0])}},)
    _note_handoff(result)
    if len(result.parts) == 1 and not result.final and not result.metadata and _is_simple(result.parts[0]):
        return (_plain_part(result.parts[0]),)
    parts = [{"kind": type(part).__name__, "fields": _fields(part)} for part in result.parts]
    return ({_PARTS: parts, "final": result.final, "metadata": result.metadata},)


def _note_handoff(result: _ToolResult) -> None:
    for part in result.parts:
        data = getattr(part, "data", None)
        if type(data).__name__ == "Handoff":
            scope.handoff(str(getattr(data, "target", "")), reason=getattr(data, "reason", None) or None)


def _is_simple(part: object) -> bool:
    return type(part).__name__ in ("TextInput", "DataInput") and not getattr(part, "metadata", None)


def _plain_part(part: object) -> object:
    """Returns the text or the data of a part; all fields of any other part."""
    match type(part).__name__:
        case "TextInput":
            return getattr(part, "content", None)
        case "DataInput":
            return getattr(part, "data", None)
        case _:
            return _fields(part)


def _fields(part: object) -> dict[str, object]:
    return {name: value for name, value in vars(part).items() if name != "created_at"}


def _event(call: _ToolCallEvent, recorded: object) -> object:
    """Returns the event for a recorded result, or for one that a person set."""
    events: Any = import_module("ag2.events")
    fields = object_of(recorded)
    answers = cast("_ResultEvents", events.ToolResultEvent)
    if _ERROR in fields:
        error = object_of(fields[_ERROR])
        failures = cast("_ResultEvents", events.ToolErrorEvent)
        raised = RuntimeError(str(error.get("message")))
        result = events.ToolResult(error.get("text"))
        return failures(parent_id=call.id, name=call.name, error=raised, result=result)
    if _PARTS in fields:
        parts = [_part(part) for part in objects_at(fields, _PARTS)]
        result = events.ToolResult(parts=parts, final=fields.get("final") is True, metadata=fields.get("metadata"))
        return answers.from_call(call, result)
    return answers.from_call(call, recorded)


def _part(recorded: Json) -> object:
    kind = str(recorded.get("kind"))
    if kind not in _KINDS:
        raise ValueError(f"a part of a tool's result is a {kind}, which cannot be made again")
    make: Callable[..., object] = getattr(import_module("ag2.events.input_events"), kind)
    fields = object_of(recorded.get("fields"))
    first = next(name for name in ("content", "data", "file_id", "url") if name in fields)
    return make(fields[first], **{name: value for name, value in fields.items() if name != first})


@intercepted
def _call_tool(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    begin = _tool(called) if is_inside_run() else None
    return called.make(function) if begin is None else _Ag2ToolCall(function, called).record(begin)


_ag2 = Instrumentation(
    [
        Wrap("ag2.agent", "Agent._turn_scope", record_returned(_agent, _observe_turn)),  # which every way to ask opens
        WrapSubclasses("ag2.tools.tool", "Tool", {"__call__": _call_tool}),
    ]
)
patch, unpatch = _ag2.patch, _ag2.unpatch
