"""Public contract for packages that bring their own capture: how a framework's agents and tools are recorded.

A capture module lists the methods of a framework that run an agent or a tool. Its entry point in the group
`playhead.captures` has the framework's import name and names the module (see docs/extending.md)::

    SUPPORTS = "my-framework >= 2.0"
    _calls = Instrumentation([agents("my_framework.agent", "Agent.run", read_agent), tools(...)])
    patch, unpatch = _calls.patch, _calls.unpatch

Functions of the capture that read the framework's objects may raise: the call is then made unrecorded, and the error
is logged. Model calls are recorded by the clients that Playhead instruments. `playhead.testing.captures` checks a
capture.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from playhead.calls import functions
from playhead.calls.lifecycle import current_span, finish, set_payload
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    begun,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
    with_span,
    with_span_async,
)
from playhead.capture.patching import Instrumentation, Patch, Wrap, Wrapper, WrapSubclasses
from playhead.capture.registry import Capture
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.span import STATUS_ERROR

__all__ = [
    "Capture",
    "CapturedAgent",
    "CapturedTool",
    "Instrumentation",
    "MethodCall",
    "Patch",
    "ToolResults",
    "Wrap",
    "WrapSubclasses",
    "Wrapper",
    "agent_wrapper",
    "agents",
    "intercepted",
    "is_inside_run",
    "is_observed",
    "tool_wrapper",
    "tools",
]


@dataclass(frozen=True, slots=True)
class CapturedAgent:
    """A call that runs an agent: the run itself if nothing recorded is around it, else an agent of that run."""

    name: str
    input: object = None
    """What the agent was asked; None: not recorded."""
    session: str | None = None
    """The conversation that a run belongs to, if one begins here."""


@dataclass(frozen=True, slots=True)
class CapturedTool:
    """A call of a tool, which the record answers on resume."""

    name: str
    """The name by which the model asks for it."""
    arguments: Mapping[str, object]
    """By name, as the model gave them."""
    call_id: str | None = None
    """The id of the model's request. None: it is found by name and arguments."""
    idempotent: bool = False
    """Whether it may be executed twice: cut off by a crash, it is executed again instead of being in doubt. Also for a
    tool that only runs an agent, whose calls inside are answered."""


ReadAgent = Callable[[MethodCall], CapturedAgent | None]
"""Reads a call of an agent's method; None: it is not recorded."""
ReadTool = Callable[[MethodCall], CapturedTool | None]
"""Reads a call of a tool's method; None: it is not recorded, e.g. as it is inside another tool's method."""
ReadOutput = Callable[[Any, MethodCall], object]
"""Returns the agent's answer from the method's result, or from one item of its stream; None: it is not in there."""


def _unchanged(value: Any) -> object:
    return value


def _no_error(_: Any) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class ToolResults:
    """How a framework's results of tools are recorded, and made again from the record.

    Without it, a result is recorded as by `@observe`, and one that a person sets (`playhead fork --outcome`) is given
    to the framework as it is.
    """

    to_record: Callable[[Any], object] = _unchanged
    """Returns a plain value for a result: a text, number, list or dictionary."""
    from_record: Callable[[Any, MethodCall], object] = field(default=lambda value, _: value)
    """Makes a result from a recorded value, or from a value that a person set: often a text."""
    error_in: Callable[[Any], str | None] = _no_error
    """Returns the text of the error that a result says, for frameworks whose tools do not raise; None: it says none."""


def agents(
    module: str, path: str, read: ReadAgent, output: ReadOutput | None = None, *, optional: bool = False
) -> Wrap:
    """Returns the patch of a method that runs an agent: plain, asynchronous, or a generator of either kind.

    `module`: where it is defined; `path`: "function" or "Class.method". `output`: see `ReadOutput`; without it, the
    result is the answer, and a generator's items are not recorded. The method runs again on resume: only calls inside
    are answered. If it calls another recorded method of the same agent, that is one call. `optional`: whether supported
    versions of the library may lack it.
    """
    return Wrap(module, path, agent_wrapper(read, output), is_optional=optional)


def tools(
    module: str, path: str, read: ReadTool, results: ToolResults | None = None, *, optional: bool = False
) -> Wrap:
    """Returns the patch of a method that executes a tool: plain or asynchronous.

    On resume the method is not called if the record has the result. If it calls another recorded method with the same
    `call_id`, that is one call. Tools outside of a run are not recorded. `module`, `path`, `optional`: as of `agents`.
    """
    return Wrap(module, path, tool_wrapper(read, results), is_optional=optional)


# --- agents -----------------------------------------------------------------------------------------------------------


def agent_wrapper(read: ReadAgent, output: ReadOutput | None = None) -> Wrapper:
    """Returns the wrapper of a method that runs an agent, for `Wrap` and `WrapSubclasses`; see `agents`."""
    begin = log_errors_and_return_none(partial(_start_agent, read))
    read_output = log_errors_and_return_none(output) if output is not None else None

    def end(span: ObservedSpan, result: object, called: MethodCall) -> None:
        answer = result if read_output is None else read_output(result, called)
        finish(span, names.OUTPUT_REF if answer is not None else None, answer)

    plain = with_span(begun(begin), end)
    asynchronous = with_span_async(begun(begin), end)

    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(wrapped):
            return asynchronous(wrapped, instance, args, kwargs)
        is_async = inspect.isasyncgenfunction(wrapped)
        if not is_async and not inspect.isgeneratorfunction(wrapped):
            return plain(wrapped, instance, args, kwargs)
        called = MethodCall(instance, wrapped.__name__, args, kwargs, is_async)
        start, steps = begin(called), called.make(wrapped)
        if start is None:
            return steps
        note = partial(_note_output, called, output)
        if is_async:
            return functions.iterate_async(start, None, _NotedAsyncSteps(steps, note))
        return functions.iterate(start, None, _NotedSteps(steps, note))

    return run


def _start_agent(read: ReadAgent, called: MethodCall) -> StartSpan | None:
    read_call = read(called)
    if read_call is None or _is_current("agent", names.AGENT_NAME, read_call.name):
        return None
    return agent(read_call.name, read_call.input, session=read_call.session)


def _is_current(kind: str, attribute: str, value: str | None) -> bool:
    """Whether the innermost recorded call is this same one: a framework's method may call another that is recorded."""
    span = current_span()
    return value is not None and span is not None and span.kind == kind and span.attributes.get(attribute) == value


class _NotedSteps(Generator[Any, Any, Any]):
    """An agent's generator, whose items are passed to `note` on their way."""

    def __init__(self, steps: Generator[Any, Any, Any], note: Callable[[Any], object]):
        self._steps = steps
        self._note = note

    def send(self, value: Any, /) -> Any:
        return self._noted(self._steps.send(value))

    def throw(self, typ: Any, val: Any = None, tb: Any = None, /) -> Any:
        return self._noted(self._steps.throw(typ if val is None else val))

    def close(self) -> None:
        self._steps.close()

    def _noted(self, step: object) -> object:
        self._note(step)
        return step


class _NotedAsyncSteps(AsyncGenerator[Any, Any]):
    """The same for an asynchronous generator."""

    def __init__(self, steps: AsyncGenerator[Any, Any], note: Callable[[Any], object]):
        self._steps = steps
        self._note = note

    # Plain methods, so that the inner generator is started where the outer one is: see `functions.iterate_async`.
    def asend(self, value: Any, /) -> Coroutine[Any, Any, Any]:
        return self._noted(self._steps.asend(value))

    def athrow(self, typ: Any, val: Any = None, tb: Any = None, /) -> Coroutine[Any, Any, Any]:
        return self._noted(self._steps.athrow(typ if val is None else val))

    async def aclose(self) -> None:
        await self._steps.aclose()

    async def _noted(self, step: Awaitable[Any]) -> Any:
        item = await step
        self._note(item)
        return item


@log_errors_and_return_none
def _note_output(called: MethodCall, output: ReadOutput | None, step: object) -> None:
    span = current_span()
    answer = output(step, called) if output is not None else None
    if span is not None and answer is not None:
        set_payload(span, names.OUTPUT_REF, answer)


# --- tools ------------------------------------------------------------------------------------------------------------


def tool_wrapper(read: ReadTool, results: ToolResults | None = None) -> Wrapper:
    """Returns the wrapper of a method that executes a tool, for `Wrap` and `WrapSubclasses`; see `tools`."""
    begin = log_errors_and_return_none(partial(_start_tool, read))

    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_async = inspect.iscoroutinefunction(wrapped)
        called = MethodCall(instance, getattr(wrapped, "__name__", ""), args, kwargs, is_async)
        start = begin(called)
        if start is None:
            return called.make(wrapped)
        tool_execution = _ToolExecution(called, results or ToolResults())
        return tool_execution.run_async(start, wrapped) if is_async else tool_execution.run(start, wrapped)

    return run


def _start_tool(read: ReadTool, called: MethodCall) -> StartSpan | None:
    read_call = read(called) if is_inside_run() else None
    if read_call is None or _is_current("tool", names.TOOL_CALL_ID, read_call.call_id):
        return None
    return tool(read_call.name, read_call.arguments, read_call.call_id, is_agent=read_call.idempotent)


class _ToolExecution:
    """One call of a tool. What is recorded may be another value than what the framework gets."""

    __slots__ = ("_called", "_is_live", "_result", "_results")

    def __init__(self, called: MethodCall, results: ToolResults):
        self._called = called
        self._results = results
        self._is_live = False
        self._result: object = None

    def run(self, start: StartSpan, function: Callable[..., Any]) -> object:
        span = start()
        if span is None:
            return self._called.make(function)

        def execute(*args: Any, **kwargs: Any) -> object:
            return self._to_record(function(*args, **kwargs))

        recorded = functions.call(span, names.TOOL_RESULT_REF, execute, self._called.args, self._called.kwargs)
        return self._result if self._is_live else self._from_record(recorded)

    async def run_async(self, start: StartSpan, function: Callable[..., Any]) -> object:
        async def execute() -> object:
            return self._to_record(await self._called.make(function))

        recorded = await functions.call_async(start, names.TOOL_RESULT_REF, execute())
        return self._result if self._is_live else self._from_record(recorded)

    def _to_record(self, result: object) -> object:
        self._result, self._is_live = result, True
        _note_error(self._results, result)
        converted = log_errors_and_return_none(_converted)(self._results, result)
        return result if converted is None else converted[0]

    def _from_record(self, recorded: object) -> object:
        try:
            return self._results.from_record(recorded, self._called)
        except Exception as error:
            raise CannotRestore(
                f"the recorded result of this tool cannot be given to its framework ({type(error).__name__}: {error}); "
                "fork the run before this call"
            ) from error


def _converted(results: ToolResults, result: object) -> tuple[object]:
    return (results.to_record(result),)


@log_errors_and_return_none
def _note_error(results: ToolResults, result: object) -> None:
    span, error = current_span(), results.error_in(result)
    if span is not None and error is not None:
        span.attributes[names.ERROR_TYPE], span.status = "tool_error", STATUS_ERROR
        span.status_message = span.recorder.text(error, span.redact)
