"""LangGraph's nodes: each execution of one is a step of the run, with what it wrote to the graph's state.

What a node was given is not recorded: it is the graph's whole state, in every node again.  A node that is a graph
itself has that graph's span.
"""

from collections.abc import Iterable
from typing import Any, cast

from playhead.api.calls.begin import begin
from playhead.api.calls.lifecycle import current_span, enter, fail_and_detach, finish
from playhead.api.calls.span import ObservedSpan
from playhead.capture.frameworks import none_on_error
from playhead.capture.langgraph.interrupts import note_interrupts
from playhead.capture.patching import Wrap
from playhead.model import names


@none_on_error
def _begin(args: Any, kwargs: Any) -> ObservedSpan | None:
    if current_span() is None:
        return None
    task = args[0] if args else kwargs["task"]
    name = str(task.name)
    if name.startswith("__") or task.subgraphs:
        return None
    return begin("step", name, attributes={names.GRAPH_NODE: name})


@none_on_error
def _written(args: Any, kwargs: Any) -> dict[str, Any]:
    """What the node wrote, by the name of the graph's channel; without those that only say what comes next."""
    task = args[0] if args else kwargs["task"]
    written = cast("Iterable[tuple[str, Any]]", task.writes)
    return {str(name): value for name, value in written if not str(name).startswith(("__", "branch:"))}


def _run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    span = _begin(args, kwargs)
    if span is None:
        return wrapped(*args, **kwargs)
    enter(span)
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        _left(span, error)
        raise
    finish(span, names.OUTPUT_REF, _written(args, kwargs))
    return result


async def _arun(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    span = _begin(args, kwargs)
    if span is None:
        return await wrapped(*args, **kwargs)
    enter(span)
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        _left(span, error)
        raise
    finish(span, names.OUTPUT_REF, _written(args, kwargs))
    return result


def _left(span: ObservedSpan, raised: BaseException) -> None:
    """Ends the step of a node that raised: an interruption for a person, or a handoff, ends it like a return."""
    from langgraph.errors import GraphBubbleUp  # noqa: PLC0415 - imported with LangGraph

    if isinstance(raised, GraphBubbleUp):
        note_interrupts(span, raised)
        finish(span)
    else:
        fail_and_detach(span, raised)


# The module that calls them has them under its own names.
NODES = (
    Wrap("langgraph.pregel._runner", "run_with_retry", _run, is_optional=True),
    Wrap("langgraph.pregel._runner", "arun_with_retry", _arun, is_optional=True),
)
