"""LangGraph's nodes: each execution of a node is a step of the run, with the values that it wrote to the graph's state.

A node's input is not recorded: it is the graph's whole state, again in every node.  A node that is itself a graph has
only the graph's span.
"""

from collections.abc import Iterable
from typing import Any, cast

from playhead.calls.begin import begin
from playhead.calls.lifecycle import current_span, fail_and_detach, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks import none_on_error
from playhead.capture.frameworks.own_span import with_own_span, with_own_span_async
from playhead.capture.langgraph.interrupts import note_interrupts
from playhead.capture.patching import Wrap
from playhead.model import names


@none_on_error
def _begin(_instance: Any, args: Any, kwargs: Any) -> ObservedSpan | None:
    if current_span() is None:
        return None
    task = args[0] if args else kwargs["task"]
    name = str(task.name)
    if name.startswith("__") or task.subgraphs:
        return None
    return begin("step", name, attributes={names.GRAPH_NODE: name})


@none_on_error
def _written(args: Any, kwargs: Any) -> dict[str, Any]:
    """Returns the values that the node wrote, by name of the graph's channel, without those that only choose the next
    node."""
    task = args[0] if args else kwargs["task"]
    written = cast("Iterable[tuple[str, Any]]", task.writes)
    return {str(name): value for name, value in written if not str(name).startswith(("__", "branch:"))}


def _finish(span: ObservedSpan, _result: Any, args: Any, kwargs: Any) -> None:
    finish(span, names.OUTPUT_REF, _written(args, kwargs))


def _end_raised(span: ObservedSpan, raised: BaseException) -> None:
    """Ends the step of a node that raised.  An interruption for a person, or a handoff, ends the step like a return."""
    from langgraph.errors import GraphBubbleUp  # noqa: PLC0415 - imported with LangGraph

    if isinstance(raised, GraphBubbleUp):
        note_interrupts(span, raised)
        finish(span)
    else:
        fail_and_detach(span, raised)


_MODULE = "langgraph.pregel._runner"  # it calls them under its own names
_run = with_own_span(_begin, _finish, _end_raised)
_run_async = with_own_span_async(_begin, _finish, _end_raised)
NODES = (
    Wrap(_MODULE, "run_with_retry", _run, is_optional=True),
    Wrap(_MODULE, "arun_with_retry", _run_async, is_optional=True),
)
