"""The tools of Haystack's agents.

A tool may also change its agent's `State`. These changes are recorded with the result, as `state`, and made again when
the record answers the call. A tool is only given its arguments: the model's request is noted where the framework
prepares the call.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from playhead.capture.frameworks.observing import (
    StartSpan,
    call,
    call_async,
    enclosing_tool_call,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
)
from playhead.capture.patching import Wrap
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import object_of

# --- what is read of the framework's objects --------------------------------------------------------------------------


class _HaystackTool(Protocol):
    name: str
    function: object


class _RequestedHaystackCall(Protocol):
    """A tool call that a model asks for."""

    id: str | None
    tool_name: str
    arguments: Mapping[str, object]


class _State(Protocol):
    """What the tools of an agent share."""

    @property
    def data(self) -> Mapping[str, object]: ...

    def set(self, key: str, value: object, handler_override: Callable[[object, object], object]) -> None: ...


# --- calls of tools ---------------------------------------------------------------------------------------------------

_STATE = "state"
_requested: ContextVar[_RequestedHaystackCall | None] = ContextVar("playhead_haystack_call", default=None)
"""The tool call that an agent is about to make here."""


class _HaystackToolCall:
    """One call of a tool."""

    def __init__(self, called: MethodCall):
        its_tool: _HaystackTool = called.client
        requested = _requested.get()
        self.name = its_tool.name
        self._states: list[_State] = [value for value in called.kwargs.values() if _is_state(value)]
        self._has_run = False
        self._result: object = None
        self.arguments = {name: value for name, value in called.kwargs.items() if not _is_state(value)}
        self.call_id: str | None = None
        if requested is not None and requested.tool_name == its_tool.name:
            self.arguments, self.call_id = dict(requested.arguments), requested.id
        self.is_agent = any(kind.__name__ == "AgentTool" for kind in type(its_tool).__mro__)

    def begin(self) -> StartSpan:
        return tool(self.name, self.arguments, self.call_id, is_agent=self.is_agent)

    def run(self, function: Callable[..., object], called: MethodCall) -> object:
        """Calls the tool; returns what is recorded of the result."""
        before = self._copied_states()
        return self._recorded(called.make(function), before)

    async def run_async(self, function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
        """The same, awaited."""
        before = self._copied_states()
        return self._recorded(await called.make(function), before)

    def result(self, recorded: object) -> object:
        """Returns the tool's result; if it comes from the record, makes the recorded changes of the state again."""
        if self._has_run:
            return self._result
        fields = object_of(recorded)
        if not self._states or fields.keys() != {"result", _STATE}:
            return self._fit(recorded)
        self._change_states(object_of(fields[_STATE]))
        return fields["result"]

    def _recorded(self, result: object, before: list[dict[str, object]]) -> object:
        self._has_run, self._result = True, result
        changed = self._changed_states(before) or {}
        return {"result": result, _STATE: changed} if changed else result

    def _fit(self, outcome: object) -> object:
        """Converts a text that a fork sets as an agent's result to the outputs that an agent has."""
        if not self.is_agent or not isinstance(outcome, str):
            return outcome
        make: Callable[[str], object] = import_module("haystack.dataclasses").ChatMessage.from_assistant
        message = make(outcome)
        return {"messages": [message], "last_message": message, "exit_reason": "text"}

    def _copied_states(self) -> list[dict[str, object]]:
        return [_copied(state) or {} for state in self._states]

    @log_errors_and_return_none
    def _changed_states(self, before: list[dict[str, object]]) -> dict[str, object]:
        return {
            key: value
            for state, then in zip(self._states, before, strict=True)
            for key, value in state.data.items()
            if key not in _OF_FRAMEWORK and (key not in then or then[key] != value)
        }

    @log_errors_and_return_none
    def _change_states(self, changed: Mapping[str, object]) -> None:
        for state in self._states:
            for key, value in changed.items():
                state.set(key, value, _replaced)


_OF_FRAMEWORK = {"tools", "hook_context"}


def _is_state(value: object) -> bool:
    return type(value).__name__ == "State" and type(value).__module__.startswith("haystack.")


def _replaced(_: object, new: object) -> object:
    """Replaces a value of the state, in the place of the handler that merges it."""
    return new


@log_errors_and_return_none
def _copied(state: _State) -> dict[str, object]:
    return {key: deepcopy(value) for key, value in state.data.items() if key not in _OF_FRAMEWORK}


def _async_function(its_tool: _HaystackTool) -> object:
    """Returns the asynchronous function of a tool.  Tools before Haystack 3 have none."""
    return getattr(its_tool, "async_function", None)


@log_errors_and_return_none
def _tool(called: MethodCall) -> _HaystackToolCall | None:
    its_tool: _HaystackTool = called.client
    if not is_inside_run() or is_observed(its_tool.function) or is_observed(_async_function(its_tool)):
        return None
    made = _HaystackToolCall(called)
    # The asynchronous method calls the plain one, and a component's tool may call an MCP server's.
    return None if enclosing_tool_call(made.name, made.arguments) is not None else made


@intercepted
def _invoke(function: Callable[..., object], called: MethodCall) -> object:
    made = _tool(called)
    if made is None:
        return called.make(function)
    bare = MethodCall(called.client, called.method, (), {})
    return made.result(call(made.begin(), names.TOOL_RESULT_REF, partial(made.run, function, called), bare))


@intercepted
async def _invoke_async(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    made = _tool(called)
    if made is None:
        return await called.make(function)
    return made.result(await call_async(made.begin(), made.run_async(function, called), names.TOOL_RESULT_REF))


@intercepted
def _make_invoke(function: Callable[..., object], called: MethodCall) -> object:
    """Notes the model's request for the tool's call: the framework's function copies the context, and calls the tool
    in it."""
    token = _requested.set(called.argument(2, "tool_call"))
    try:
        return called.make(function)
    finally:
        _requested.reset(token)


@intercepted
def _make_invoke_async(function: Callable[..., Any], called: MethodCall) -> object:
    """The same for the framework's function whose result calls the tool in a task."""
    invoke, requested = called.make(function), called.argument(3, "tool_call")

    async def noting() -> object:
        _requested.set(requested)  # of its own task
        return await invoke()

    return noting


# --- tools before Haystack 3 ------------------------------------------------------------------------------------------

_asked_for: ContextVar[tuple[_RequestedHaystackCall, ...]] = ContextVar("playhead_haystack_calls", default=())
"""The tool calls that a `ToolInvoker` has yet to prepare, in the order of the model's requests."""


@log_errors_and_return_none
def _calls_in_messages(called: MethodCall) -> tuple[_RequestedHaystackCall, ...]:
    return tuple(request for message in called.argument(0, "messages") for request in message.tool_calls)


@intercepted
def _run_invoker(function: Callable[..., object], called: MethodCall) -> object:
    token = _asked_for.set(_calls_in_messages(called) or ())
    try:
        return called.make(function)
    finally:
        _asked_for.reset(token)


@intercepted
async def _run_invoker_async(function: Callable[..., Any], called: MethodCall) -> object:
    token = _asked_for.set(_calls_in_messages(called) or ())
    try:
        return await called.make(function)
    finally:
        _asked_for.reset(token)


@log_errors_and_return_none
def _next_request(called: MethodCall) -> _RequestedHaystackCall | None:
    """Returns the first request of this tool that is left, and removes it.  The tools are prepared in order."""
    its_tool: _HaystackTool = called.argument(0, "tool_to_invoke")
    left = _asked_for.get()
    index = next((number for number, request in enumerate(left) if request.tool_name == its_tool.name), None)
    if index is None:
        return None
    _asked_for.set((*left[:index], *left[index + 1 :]))
    return left[index]


@intercepted
def _make_older_invoke(function: Callable[..., object], called: MethodCall) -> object:
    """As `_make_invoke`, for the method that is not given the model's request."""
    token = _requested.set(_next_request(called))
    try:
        return called.make(function)
    finally:
        _requested.reset(token)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_TOOLS, _CALLING = "haystack.tools.tool", "haystack.components.agents.tool_calling"
_INVOKER = "haystack.components.tools.tool_invoker"  # before Haystack 3
TOOLS = (
    Wrap(_TOOLS, "Tool.invoke", _invoke),
    Wrap(_TOOLS, "Tool.invoke_async", _invoke_async, is_optional=True),
    Wrap(_CALLING, "_make_context_bound_invoke", _make_invoke, is_optional=True),
    Wrap(_CALLING, "_make_bounded_invoke_async", _make_invoke_async, is_optional=True),
    Wrap(_INVOKER, "ToolInvoker.run", _run_invoker, is_optional=True),
    Wrap(_INVOKER, "ToolInvoker.run_async", _run_invoker_async, is_optional=True),
    Wrap(_INVOKER, "ToolInvoker._make_context_bound_invoke", _make_older_invoke, is_optional=True),
)
