"""store → [project]: finds spans of frameworks that describe the same agent or tool call as one of our spans.

Frameworks with telemetry of their own make a span for each agent and each tool call, in addition to ours. Our spans
give the events; theirs stay in the tree and give none.

| their span | is the same as ours if |
|---|---|
| of a tool call | the tool call ids are equal; if one has no id: one span began and ended during the other |
| of an agent | the agents have the same name, and one span began and ended during the other |

Each of our spans replaces at most one span per instrumentation: the one that began at the nearest time. Pure.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice

from playhead.model import names
from playhead.project.attributes import text
from playhead.project.span_tree import SpanNode

_AT_A_TIME = 100  # calls of the same name that are compared with a span, on either side of its start
_NAMES = {"tool": names.TOOL_NAME, "agent": names.AGENT_NAME}


def merge_framework_spans(nodes: Sequence[SpanNode]) -> None:
    """Sets `kind` to None on nodes whose agent or tool call one of our spans describes."""
    theirs = [node for node in nodes if node.kind in _NAMES and not _is_ours(node) and not node.root]
    if not theirs:
        return
    ours = _by_name(node for node in nodes if node.kind in _NAMES and _is_ours(node))
    stood_for: set[tuple[str, str | None]] = set()
    for node in theirs:
        for other in _nearest(ours.get(_name_of(node), []), node):
            if (other.span.span_id, node.span.scope) not in stood_for and _is_same(node, other):
                stood_for.add((other.span.span_id, node.span.scope))
                node.kind = None
                break


def _is_ours(node: SpanNode) -> bool:
    return node.span.scope == names.SCOPE


def _name_of(node: SpanNode) -> tuple[str, str]:
    kind = str(node.kind)
    return kind, text(node.span.attributes, _NAMES.get(kind, "")) or node.span.name


def _by_name(nodes: Iterable[SpanNode]) -> dict[tuple[str, str], list[SpanNode]]:
    """The nodes by kind and name, in order of their start."""
    by_name: dict[tuple[str, str], list[SpanNode]] = defaultdict(list)
    for node in sorted(nodes, key=_start):
        by_name[_name_of(node)].append(node)
    return by_name


def _nearest(ours: list[SpanNode], node: SpanNode) -> list[SpanNode]:
    """The up to 200 spans of `ours` around the node's start, the nearest first."""
    index = bisect_left(ours, _start(node), key=_start)
    near = islice(ours, max(0, index - _AT_A_TIME), index + _AT_A_TIME)
    return sorted(near, key=lambda other: (abs(_start(other) - _start(node)), other.span.span_id))


def _is_same(node_a: SpanNode, node_b: SpanNode) -> bool:
    first, second = (text(node.span.attributes, names.TOOL_CALL_ID) for node in (node_a, node_b))
    if node_a.kind == "tool" and first is not None and second is not None:
        return first == second
    return _is_during(node_a, node_b) or _is_during(node_b, node_a)


def _is_during(inner: SpanNode, outer: SpanNode) -> bool:
    ends = [node.span.end_ns or _start(node) for node in (inner, outer)]
    return _start(outer) <= _start(inner) and ends[0] <= ends[1]


def _start(node: SpanNode) -> int:
    return node.span.start_ns
