"""Haystack: pipelines and their components, agents, and the tools that agents call. Models run on clients that are
recorded themselves, such as `openai`.

A pipeline and an agent are agents; a component is a step, and one that retrieves is a retriever, which the record
answers. A tool may also change its agent's `State`. These changes are recorded with the result, as `state`, and made
again when the record answers the call.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from playhead.calls.functions import EventStreamReader, iterate_async
from playhead.calls.lifecycle import current_span, detach, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    as_items,
    begun,
    call,
    call_async,
    enclosing_tool_call,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    record_returned,
    retriever,
    step,
    tool,
    with_span,
    with_span_async,
)
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import object_of

SUPPORTS = "haystack-ai >= 3.4"


# --- what is read of the framework's objects --------------------------------------------------------------------------


class _HaystackTool(Protocol):
    name: str
    function: object
    async_function: object


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


# --- pipelines and agents ---------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _pipeline(called: MethodCall) -> StartSpan:
    metadata = object_of(getattr(called.client, "metadata", None))
    return agent(str(metadata.get("name") or type(called.client).__name__), called.argument(0, "data"))


def _finish_pipeline(span: ObservedSpan, outputs: object, _: MethodCall) -> None:
    detach(span)
    finish(span, names.OUTPUT_REF, outputs)


# The last of a generator's items has all outputs.  A pipeline is never answered from the record: its calls are.
_OUTPUTS = EventStreamReader(lambda _, outputs: outputs, lambda _: [])


def _iterate_pipeline(begin: StartSpan, outputs: AsyncGenerator[object, None]) -> object:
    return iterate_async(begin, names.OUTPUT_REF, outputs, _OUTPUTS)


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan:
    around = current_span()
    as_tool = around.attributes.get(names.TOOL_NAME) if around is not None and around.kind == "tool" else None
    name: object = as_tool or getattr(called.client, "__component_name__", None) or type(called.client).__name__
    return agent(str(name), _question(called))


def _question(called: MethodCall) -> object:
    """Returns the text of the last message, else all arguments."""
    messages = as_items(called.argument(0, "messages"))
    text = getattr(messages[-1], "text", None) if messages else None
    return text if isinstance(text, str) else dict(called.kwargs)


def _finish_agent(span: ObservedSpan, outputs: Mapping[str, object], _: MethodCall) -> None:
    detach(span)
    finish(span, names.OUTPUT_REF, _answer(outputs))


@log_errors_and_return_none
def _answer(outputs: Mapping[str, object]) -> object:
    """Returns the text of an agent's last message, else all outputs."""
    text: object = getattr(outputs.get("last_message"), "text", None)
    return outputs if text is None else text


# --- components -------------------------------------------------------------------------------------------------------


class _ComponentRun:
    """One execution of a component by a pipeline."""

    def __init__(self, called: MethodCall):
        arguments = called.arguments("component_name", "component", "component_inputs", "component_visits")
        self.name: str = arguments["component_name"]
        self.inputs: Mapping[str, object] = arguments.get("component_inputs") or arguments.get("inputs") or {}
        self.visits: MutableMapping[str, int] = arguments["component_visits"]
        self.kind: type = type(arguments["component"]["instance"])
        self.has_run = False

    @property
    def is_agent(self) -> bool:
        return any(kind.__module__ == "haystack.components.agents.agent" for kind in self.kind.__mro__)

    @property
    def is_retriever(self) -> bool:
        return self.kind.__name__.endswith(("Retriever", "WebSearch"))

    def make(self, function: Callable[..., object], called: MethodCall) -> object:
        self.has_run = True
        return called.make(function)

    def result(self, outputs: object) -> object:
        """Returns the outputs.  If they come from the record, counts the execution as the pipeline does."""
        if not self.has_run:
            self.visits[self.name] += 1
        return outputs


@log_errors_and_return_none
def _component(called: MethodCall) -> _ComponentRun | None:
    run = _ComponentRun(called)
    return run if is_inside_run() and not run.is_agent else None


def _as_outputs(outcome: object) -> object:
    """Converts texts that a fork sets as a retriever's result to the documents that it returns."""
    if isinstance(outcome, Mapping):
        return outcome  # pyright: ignore[reportUnknownVariableType]
    make: Callable[..., object] = import_module("haystack").Document
    return {"documents": [make(content=item) if isinstance(item, str) else item for item in as_items(outcome)]}


def _step(called: MethodCall) -> StartSpan | None:
    run = _component(called)
    return None if run is None else step(run.name, run.inputs, node=run.name)


def _finish_component(span: ObservedSpan, outputs: object, _: MethodCall) -> None:
    detach(span)
    finish(span, names.OUTPUT_REF, outputs)


_step_plain = with_span(begun(_step), _finish_component)
_step_awaited = with_span_async(begun(_step), _finish_component)


@intercepted
def _run_component(function: Callable[..., Any], called: MethodCall) -> object:
    run = _component(called)
    if run is None or not run.is_retriever:
        return _step_plain(function, called.client, called.args, called.kwargs)
    made = partial(run.make, function, called)
    bare = MethodCall(called.client, called.method, (), {})
    return run.result(call(retriever(run.name, run.inputs), names.OUTPUT_REF, made, bare, _as_outputs))


@intercepted
async def _run_component_async(function: Callable[..., Any], called: MethodCall) -> object:
    run = _component(called)
    if run is None or not run.is_retriever:
        return await _step_awaited(function, called.client, called.args, called.kwargs)
    begin = retriever(run.name, run.inputs)
    return run.result(await call_async(begin, _made(run, function, called), names.OUTPUT_REF, _as_outputs))


async def _made(run: _ComponentRun, function: Callable[..., Any], called: MethodCall) -> object:
    run.has_run = True
    return await called.make(function)


# --- tools ------------------------------------------------------------------------------------------------------------

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


@log_errors_and_return_none
def _tool(called: MethodCall) -> _HaystackToolCall | None:
    its_tool: _HaystackTool = called.client
    if not is_inside_run() or is_observed(its_tool.function) or is_observed(its_tool.async_function):
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


# --- what is wrapped --------------------------------------------------------------------------------------------------

_PIPELINE, _AGENT, _TOOLS = "haystack.core.pipeline.pipeline", "haystack.components.agents.agent", "haystack.tools.tool"
_CALLING = "haystack.components.agents.tool_calling"

_haystack = Instrumentation(
    [
        Wrap(_PIPELINE, "Pipeline.run", with_span(begun(_pipeline), _finish_pipeline)),
        Wrap(_PIPELINE, "Pipeline.run_async_generator", record_returned(_pipeline, _iterate_pipeline)),
        Wrap(_PIPELINE, "Pipeline._run_component", _run_component, is_optional=True),
        Wrap(_PIPELINE, "Pipeline._run_component_async", _run_component_async, is_optional=True),
        Wrap(_AGENT, "Agent.run", with_span(begun(_agent), _finish_agent)),
        Wrap(_AGENT, "Agent.run_async", with_span_async(begun(_agent), _finish_agent)),
        Wrap(_TOOLS, "Tool.invoke", _invoke),
        Wrap(_TOOLS, "Tool.invoke_async", _invoke_async),
        Wrap(_CALLING, "_make_context_bound_invoke", _make_invoke, is_optional=True),
        Wrap(_CALLING, "_make_bounded_invoke_async", _make_invoke_async, is_optional=True),
    ]
)
patch, unpatch = _haystack.patch, _haystack.unpatch
