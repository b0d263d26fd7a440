"""Spans of a framework's tools, retrievers, guardrails and agents: observes tools where the framework calls them, and
agents where they start. Shared by the modules of agent frameworks.

A framework is patched when the program imports it. A tool whose function is under `@observe` is not recorded again.
Each agent has a span: the outermost agent is a run, agents that start inside are agents of that run.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from playhead.api.observe import ObserveOptions
from playhead.calls import functions
from playhead.calls.lifecycle import current_span, enter, fail_and_detach
from playhead.calls.proxy import ObservedFunction, ObservedMethod
from playhead.calls.run import root_attributes
from playhead.calls.span import ObservedSpan
from playhead.capture.patching import Wrapper
from playhead.capture.wrapping import CallRecording, MethodCall, intercepted, wrap, wrap_async
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.json_value import list_of, object_of
from playhead.model.span import STATUS_ERROR

P = ParamSpec("P")
T = TypeVar("T")
StartSpan = Callable[[], ObservedSpan | None]
ReadCall = Callable[[MethodCall], StartSpan | None]
"""Reads a call, and returns the function that begins its span; None: the call is not recorded."""


class Named(Protocol):
    """An agent, a team, a tool or another object of a framework that has a name."""

    name: str


_TOOL = ObserveOptions(None, "tool", True, True, None, {}, None)
_RETRIEVER = ObserveOptions(None, "retriever", True, True, None, {}, None)
_GUARDRAIL = ObserveOptions(None, "guardrail", True, True, None, {}, None)
_STEP = ObserveOptions(None, "step", True, True, None, {}, None)
_AGENT = ObserveOptions(None, "agent", True, True, None, {}, None)


def log_errors_and_return_none(read: Callable[P, T]) -> Callable[P, T | None]:
    """Decorator for functions that inspect a framework's objects: any error is logged, and the result is None."""

    @wraps(read)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> T | None:
        with guarded("observe what %s does", read.__module__.rpartition(".")[2]):
            return read(*args, **kwargs)
        return None

    return quiet


def arguments_by_name(tool_input: object) -> Mapping[str, object]:
    """Returns the arguments of a tool call: a dictionary as it is, any other value under the name `input`."""
    fields = object_of(tool_input)
    return fields if isinstance(tool_input, dict) else {"input": tool_input}


def as_items(value: object) -> Sequence[object]:
    """Returns a list as it is, and any other value as the only item of a list."""
    items = list_of(value)
    return items if isinstance(value, list) else [value]


def is_observed(function: object) -> bool:
    """Whether calls of the function or bound method are recorded already, by `@observe`."""
    return any(isinstance(layer, ObservedFunction | ObservedMethod) for layer in _layers(function))


def _layers(function: object) -> Iterator[object]:
    while function is not None:
        yield function
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        function = inner or (None if isinstance(function, ObservedFunction) else getattr(function, "__wrapped__", None))


# --- spans ------------------------------------------------------------------------------------------------------------


def tool(name: str, arguments: Mapping[str, object], call_id: object, *, is_agent: bool = False) -> StartSpan:
    """Returns a `StartSpan` for the span of a tool call, with its arguments and the id of the model's request.

    `is_agent`: the tool only runs an agent, so it is idempotent: a call that was cut off is made again on resume.
    """
    more: dict[str, object] = {names.TOOL_CALL_ID: call_id} if isinstance(call_id, str) and call_id else {}
    if is_agent:
        more[names.IDEMPOTENT] = True
    return lambda: _TOOL.begin(name, arguments, more)


def retriever(name: str, query: Mapping[str, object]) -> StartSpan:
    """Returns a `StartSpan` for the span of a retrieval. `query`: the search arguments by name."""
    return lambda: _RETRIEVER.begin(name, query, {})


def guardrail(name: str, checked: Mapping[str, object]) -> StartSpan:
    """Returns a `StartSpan` for the span of a check of an agent's input or output. `checked`: the values by name."""
    return lambda: _GUARDRAIL.begin(name, checked, {})


def step(name: str, values: Mapping[str, object], *, node: str | None = None) -> StartSpan:
    """Returns a `StartSpan` for the span of a step of the current run, with its inputs by name. `node`: the name of the
    node of a graph whose execution it is."""
    more: dict[str, object] = {} if node is None else {names.GRAPH_NODE: node}
    return lambda: _STEP.begin(name, values, more)


def recorded_step(name: str, values: Mapping[str, object]) -> StartSpan:
    """The same for a step that the record answers, for what differs from one execution to the next."""
    return lambda: _STEP.begin(name, values, {names.REPLAYABLE: True})


def agent(name: str, agent_input: object, *, session: object = None) -> StartSpan:
    """Returns a `StartSpan` for the span of an agent: a run if none is current, else an agent of the current run.
    `agent_input`: the agent's input, or None. `session`: the session of the run, if a run begins here."""
    observation = _AGENT
    if session is not None:
        observation = ObserveOptions(None, "agent", True, True, None, root_attributes(session, None, None), None)
    return lambda: observation.begin(name, None if agent_input is None else {"input": agent_input}, {})


def note_returned_error(text: object) -> None:
    """Marks the current call as failed, for a framework that returns an error's text in the place of an exception."""
    span = current_span()
    if span is not None and span.run.recorded and not span.is_replayed:
        span.attributes[names.ERROR_TYPE], span.status = "tool_error" if span.kind == "tool" else "error", STATUS_ERROR
        span.status_message = span.recorder.text(text if isinstance(text, str) else "", span.redact)


def set_session(session: object) -> None:
    """Sets the session of the current run, unless the program has set one. None: changes nothing."""
    root = current_span() if session is not None else None
    while root is not None and root.enclosing is not None:
        root = root.enclosing
    if root is not None and names.RUN_ROOT in root.attributes:
        root.attributes.setdefault(names.CONVERSATION, str(session))


def enclosing_tool_call(name: str, arguments: Mapping[str, object]) -> ObservedSpan | None:
    """Returns the current span if an outer layer already records this same tool call; else None.

    A framework calls a tool of an MCP server through its own tool class, and that through the server's client: that is
    one call, recorded by the outermost layer. It is the same call if the arguments are equal and the outer name is the
    tool's, or ends with it after a prefix such as the server's name.
    """
    span = current_span()
    while span is not None and span.kind == "step":
        span = span.enclosing
    if span is None or span.kind != "tool" or not _is_name_of(name, span.attributes.get(names.TOOL_NAME)):
        return None
    unused = span.recorder.frames()
    unused.new = {}
    ref = span.recorder.payload(arguments, unused, span.redact)
    return span if ref == span.attributes.get(names.TOOL_ARGUMENTS_REF) else None


def _is_name_of(name: str, outer: object) -> bool:
    if not isinstance(outer, str) or not outer.endswith(name):
        return False
    prefix = outer.removesuffix(name)
    return not prefix or not prefix[-1].isalnum()


def is_inside_run() -> bool:
    """Whether a recorded call is current here."""
    return current_span() is not None


# --- recorded calls, which the record answers -------------------------------------------------------------------------


def record_returned(read: Callable[[MethodCall], T | None], record: Callable[[T, Any], object]) -> Wrapper:
    """Returns a wrapper that calls the function, passes its result (a coroutine, a stream, a context manager) to
    `record`, and returns what `record` returns.

    `read` returns what to record of the call, e.g. a `StartSpan`; None: nothing is recorded.
    """

    def handle(function: Callable[..., object], called: MethodCall) -> object:
        target, made = read(called), called.make(function)
        return made if target is None else record(target, made)

    return intercepted(handle)


def call(
    begin: StartSpan, output: str, function: Callable[..., object], called: MethodCall, fit: functions.Fit | None = None
) -> object:
    """Calls a plain function and records the call, or returns the recorded answer. `fit` converts an outcome that a
    person set."""
    span = begin()
    if span is None:
        return called.make(function)
    return functions.call(span, output, function, called.args, called.kwargs, fit)


def call_async(begin: StartSpan, made: Awaitable[T], output: str, fit: functions.Fit | None = None) -> Awaitable[Any]:
    """Awaits a framework's coroutine and records the call, or returns the recorded answer. `fit`: as in `call`."""
    return functions.call_async(begin, output, made if inspect.iscoroutine(made) else _awaited(made), fit)


async def _awaited(made: Awaitable[T]) -> T:
    return await made


def answered_wrappers(
    read: ReadCall,
    output: str = names.TOOL_RESULT_REF,
    fit: Callable[[MethodCall], functions.Fit] | None = None,
) -> tuple[Wrapper, Wrapper]:
    """Returns the wrappers of a plain function and of one whose result is awaited, for calls that the record answers:
    of tools, or with another `output` of retrievers and checks.

    `read` reads the call (None: it is not recorded).  `fit` returns, for a call, the function that converts an outcome
    which a person set.
    """

    def plain(function: Callable[..., object], called: MethodCall) -> object:
        begin = read(called)
        if begin is None:
            return called.make(function)
        return call(begin, output, function, called, None if fit is None else fit(called))

    def asynchronous(function: Callable[..., Awaitable[object]], called: MethodCall) -> Awaitable[object]:
        begin, made = read(called), called.make(function)
        if begin is None:
            return made
        return call_async(begin, made, output, None if fit is None else fit(called))

    return intercepted(plain), intercepted(asynchronous)


# --- recorded calls that run again on resume --------------------------------------------------------------------------

BeginSpan = Callable[[MethodCall], ObservedSpan | None]
EndSpan = Callable[[ObservedSpan, Any, MethodCall], None]
FailSpan = Callable[[ObservedSpan, BaseException], None]


def begun(read: ReadCall) -> BeginSpan:
    """Returns the function that begins the spans of the calls that `read` reads."""

    def begin(called: MethodCall) -> ObservedSpan | None:
        start = read(called)
        return None if start is None else start()

    return begin


def with_span(begin: BeginSpan, end: EndSpan, fail: FailSpan = fail_and_detach) -> Wrapper:
    """Returns the wrapper for a plain method that gets a span of its own and runs again on resume: only the calls
    inside are answered from the record.

    `begin` begins the span of a call (None: the call is not recorded). `end` gets span, result and call, and ends the
    span. `fail` ends it with the exception, which is then raised again.
    """
    return wrap(partial(_begin_with_span, begin, end, fail))


def with_span_async(begin: BeginSpan, end: EndSpan, fail: FailSpan = fail_and_detach) -> Wrapper:
    """The same as `with_span`, for a method whose result is awaited."""
    return wrap_async(partial(_begin_with_span, begin, end, fail))


class _SpanRecording(CallRecording):
    """One call with a span of its own, which is current already."""

    __slots__ = ("_end", "_fail", "_span")

    def __init__(self, call: MethodCall, span: ObservedSpan, end: EndSpan, fail: FailSpan):
        super().__init__(call)
        self._span = span
        self._end = end
        self._fail = fail

    def end(self, result: object) -> object:
        self._end(self._span, result, self.call)
        return result

    def fail(self, raised: BaseException) -> None:
        self._fail(self._span, raised)


def _begin_with_span(begin: BeginSpan, end: EndSpan, fail: FailSpan, call: MethodCall) -> CallRecording | None:
    span = begin(call)
    if span is None:
        return None
    enter(span)
    return _SpanRecording(call, span, end, fail)
