"""LangGraph's graphs and nodes. The outermost graph is a run; a graph inside another is an agent of that run, if it has
a name. Each execution of a node is a step of the run, with the values that it wrote to the graph's state.

A graph that was compiled without a name gets the name of the node or tool that it runs as. Its tools and models are
LangChain's. Its thread id is the session of the run, if the program has not set one.

A node's input is not recorded: it is the graph's whole state, again in every node. A node that is itself a graph has
only the graph's span.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from opentelemetry import context as otel

from playhead.api.log_events import log_event
from playhead.calls import functions
from playhead.calls.begin import begin
from playhead.calls.lifecycle import current_span, fail_and_detach, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
    StartSpan,
    agent,
    call,
    call_async,
    log_errors_and_return_none,
    set_session,
    with_span,
    with_span_async,
)
from playhead.capture.langgraph.interrupts import (
    GraphAnswers,
    answers_in,
    declare_interrupts,
    note_interrupts,
    noting_answers,
    noting_answers_async,
)
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.json_value import value_at

SUPPORTS = "langgraph >= 1.0"


class _NodeExecution(Protocol):
    """One execution of a node."""

    name: str
    subgraphs: Iterable[object]
    writes: Iterable[tuple[str, object]]


_Config = Mapping[str, object] | None
"""The configuration that a program passes to a graph."""


# --- graphs -----------------------------------------------------------------------------------------------------------

_UNNAMED = "LangGraph"  # LangGraph's default name of a graph


@log_errors_and_return_none
def _begin_graph(called: MethodCall) -> StartSpan | None:
    if _is_entered(called.client):
        return None
    config = _graph_config(called)
    name = _graph_name(called.client, config)
    thread = _thread_id(config)
    set_session(thread)
    return agent(name, _graph_input(called), session=thread) if name is not None else None


def _graph_input(called: MethodCall) -> object:
    return called.argument(0, "input")


def _graph_config(called: MethodCall) -> _Config:
    return called.argument(1, "config")


def _answers(called: MethodCall) -> GraphAnswers | None:
    """Returns the answers to interrupts that are passed to this call; None if there are none."""
    answers = answers_in(_graph_input(called))
    return GraphAnswers(called.client, _graph_config(called), answers) if answers else None


def _thread_id(config: _Config) -> object:
    """Returns the conversation's id that the program passed to the graph; None if it passed none."""
    return value_at((config or {}).get("configurable"), "thread_id")


def _graph_name(graph: Named, config: _Config) -> str | None:
    """Returns the graph's name.  An unnamed graph inside another call gets the name of its tool or node; None if it has
    none."""
    name, around = str(graph.name), current_span()
    if name != _UNNAMED or around is None:
        return name
    if around.kind == "tool":
        return str(around.attributes.get(names.TOOL_NAME) or around.name)
    node = value_at((config or _node_config()).get("metadata"), "langgraph_node")
    return None if node is None else str(node)


def _node_config() -> Mapping[str, object]:
    """Returns the configuration of the current node."""
    from langchain_core.runnables.config import var_child_runnable_config  # noqa: PLC0415 - imported with LangGraph

    return {**(var_child_runnable_config.get() or {})}


# --- a graph's `invoke` goes through its own `stream` -----------------------------------------------------------------

_ENTERED = otel.create_key("playhead-langgraph-entered")
_SAID = "_playhead_said"


def _is_entered(graph: object) -> bool:
    """Whether this `stream` is called by an `invoke` that is recorded already."""
    entered = otel.get_value(_ENTERED)
    return isinstance(entered, _Entered) and entered.graph is graph and entered.span is current_span()


@dataclass(frozen=True, slots=True)
class _Entered:
    """A graph whose body runs, and the span of its call."""

    graph: object
    span: ObservedSpan | None


class _GraphCall:
    """One recorded call of a graph, and the exception with which the graph signals the graph around it."""

    def __init__(self, graph: object):
        self._graph = graph
        self._bubbled: BaseException | None = None

    @contextmanager
    def inside(self) -> Generator[None]:
        """Context for the call's body: a handoff, or an interruption for a person, ends the call like a return."""
        from langgraph.errors import GraphBubbleUp  # noqa: PLC0415 - imported with LangGraph

        token = otel.attach(otel.set_value(_ENTERED, _Entered(self._graph, current_span())))
        try:
            yield
        except GraphBubbleUp as bubbled:
            self._bubbled = bubbled
            _say_handoffs(bubbled)
        finally:
            otel.detach(token)

    def outside(self) -> None:
        """Raises the exception that ended the graph's body, if any.  Called after the recorded call has ended."""
        if self._bubbled is not None:
            raise self._bubbled


def _say_handoffs(bubbled: BaseException) -> None:
    with guarded("see whom a graph hands over to"):  # another version
        command: Any = bubbled.args[0] if bubbled.args else None
        goto: object = getattr(command, "goto", None)
        if not goto or getattr(bubbled, _SAID, False):
            return
        setattr(bubbled, _SAID, True)  # the exception passes other graphs on its way up
        targets: Iterable[object] = command.goto if isinstance(goto, list | tuple) else [goto]
        for to in targets:
            name = str(getattr(to, "node", to))
            if name != "__end__":
                log_event(names.HANDOFF, {names.HANDOFF_TO: name}, {})


# --- wrappers of a graph's methods ------------------------------------------------------------------------------------


@intercepted
def _invoke(function: Callable[..., object], called: MethodCall) -> object:
    begin = _begin_graph(called)
    if begin is None:
        return called.make(function)
    observed, answers = _GraphCall(called.client), _answers(called)

    def body(*args: object, **kwargs: object) -> object:
        with observed.inside():
            if answers is not None:
                answers.note()
            return function(*args, **kwargs)

    result = call(begin, names.OUTPUT_REF, body, called)
    observed.outside()
    return result


@intercepted
def _ainvoke(function: Callable[..., Awaitable[object]], called: MethodCall) -> Awaitable[object]:
    begin, made = _begin_graph(called), called.make(function)
    if begin is None:
        return made
    return _ainvoked(begin, _GraphCall(called.client), _answers(called), made)


async def _ainvoked(
    begin: StartSpan, observed: _GraphCall, answers: GraphAnswers | None, made: Awaitable[object]
) -> object:
    async def body() -> object:
        with observed.inside():
            if answers is not None:
                await answers.note_async()
            return await made

    result = await call_async(begin, body(), names.OUTPUT_REF)
    observed.outside()
    return result


@intercepted
def _stream(function: Callable[..., Generator[object]], called: MethodCall) -> Generator[object]:
    begin, made = _begin_graph(called), called.make(function)
    if begin is None:
        return made
    answers = _answers(called)
    return functions.iterate(begin, None, noting_answers(made, answers) if answers else made)


@intercepted
def _astream(function: Callable[..., AsyncGenerator[object, object]], called: MethodCall) -> object:
    begin, made = _begin_graph(called), called.make(function)
    if begin is None:
        return made
    answers = _answers(called)
    return functions.iterate_async(begin, None, noting_answers_async(made, answers) if answers else made)


# --- nodes ------------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_node(called: MethodCall) -> ObservedSpan | None:
    if current_span() is None:
        return None
    task: _NodeExecution = called.argument(0, "task")
    name = str(task.name)
    if name.startswith("__") or task.subgraphs:
        return None
    return begin("step", name, attributes={names.GRAPH_NODE: name})


@log_errors_and_return_none
def _written_values(called: MethodCall) -> dict[str, object]:
    """Returns the values that the node wrote, by name of the graph's channel, without those that only choose the next
    node."""
    task: _NodeExecution = called.argument(0, "task")
    return {str(name): value for name, value in task.writes if not str(name).startswith(("__", "branch:"))}


def _finish_node(span: ObservedSpan, _result: object, called: MethodCall) -> None:
    finish(span, names.OUTPUT_REF, _written_values(called))


def _fail_node(span: ObservedSpan, raised: BaseException) -> None:
    """Ends the step of a node that raised.  An interruption for a person, or a handoff, ends the step like a return."""
    from langgraph.errors import GraphBubbleUp  # noqa: PLC0415 - imported with LangGraph

    if isinstance(raised, GraphBubbleUp):
        note_interrupts(span, raised)
        finish(span)
    else:
        fail_and_detach(span, raised)


_NODES_MODULE = "langgraph.pregel._runner"  # it calls them under its own names
_run_node = with_span(_begin_node, _finish_node, _fail_node)
_run_node_async = with_span_async(_begin_node, _finish_node, _fail_node)
NODES = (
    Wrap(_NODES_MODULE, "run_with_retry", _run_node, is_optional=True),
    Wrap(_NODES_MODULE, "arun_with_retry", _run_node_async, is_optional=True),
)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_METHODS = {"invoke": _invoke, "ainvoke": _ainvoke, "stream": _stream, "astream": _astream}
_GRAPHS = (Wrap("langgraph.pregel.main", f"Pregel.{method}", wrapper) for method, wrapper in _METHODS.items())
_langgraph = Instrumentation([*_GRAPHS, *NODES])
unpatch = _langgraph.unpatch


def patch() -> None:
    """Wraps the graphs and their nodes; tools and functions that `interrupt()` stops are then recorded as waiting."""
    _langgraph.patch()
    declare_interrupts()
