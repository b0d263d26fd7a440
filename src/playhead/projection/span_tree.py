"""store → [projection]: the call tree of a run: the parent and the acting agent of each span, and the root.

Spans come from many senders: parents may be lost, may arrive later, or may form a cycle.  All of that is accepted.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from playhead.model import names
from playhead.model.span import Span
from playhead.projection.attributes import agent_name, attempt_of, kind_of, order_of, text, whole

# OTLP's span kinds: 1 internal, 2 server, 5 consumer; 0 is unset.
_INTERNAL, _ENTRY = (0, 1), (2, 5)
_VISITING = -1
_MOST_AGENTS = 100  # agents that are checked for the target of a handoff


@dataclass(slots=True)
class SpanNode:
    """A span with its position in the tree and values derived from it.

    `root`: the run (or an attempt at it) begins with this span.  `ends_run`: the run ends with this span;
    `run_began_ns`: when it began, None: with this span.  `kind`: None when the span gives no events of its own;
    `own`: the kind from the span's own attributes.  `around`: there are model calls inside.  `enclosing_model_call`:
    the nearest model call around it.  `begun_ns`: when it began, but not before its parent; `order.py` sets it in runs
    that it orders by time.
    """

    span: Span
    kind: str | None
    parent: "SpanNode | None" = None
    depth: int = _VISITING
    actor: str | None = None
    enclosing_model_call: "SpanNode | None" = None
    root: bool = False
    ends_run: bool = False
    run_began_ns: int | None = None
    attempt: int = 0
    order: int | None = None
    has_known_descendant: bool = False
    begun_ns: int = 0
    own: str | None = None
    around: bool = False

    @property
    def parent_call(self) -> str | None:
        """The span id of the nearest enclosing call that has events; None when there is none."""
        above = self.parent
        while above is not None and above.kind is None and not above.root:
            above = above.parent
        return None if above is None else above.span.span_id

    @property
    def step_name(self) -> str:
        """The name for step events: the span's name; for an agent, the agent's name."""
        return (agent_name(self.span, self.kind) or self.span.name) if self.kind == "agent" else self.span.name


class SpanTree:
    """All spans of a run, each once, parents before their children."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._all = {span.span_id: _node_of(span) for span in _each_once(spans)}
        self.nodes: list[SpanNode] = []
        self._agents: list[SpanNode] | None = None  # sorted by start; filled at the first use
        self.roots = self._find_roots()
        # Where the chain of parents is broken, the root's agent is the actor: its span encloses everything.
        self._agent = agent_name(self.roots[0].span, self.roots[0].kind) if self.roots else None
        for node in self._all.values():
            if node.depth == _VISITING:
                self._climb(node)
        self._name_steps()

    @property
    def is_counted(self) -> bool:
        """Whether this is a run of our SDK in which all calls have numbers and a kind. Then later data only adds events
        after the existing ones."""
        return all(
            node.order is not None and node.own is not None and names.RUN_ID in node.span.attributes
            for node in self.nodes
        ) and not any(root.own in names.CALL_KINDS for root in self.roots)

    def join(self, span: Span) -> SpanNode:
        """Adds a new call, without its position in the tree: call `settle` afterwards."""
        node = self._all[span.span_id] = _node_of(span)
        return node

    def settle(self, new: Iterable[SpanNode]) -> None:
        """Sets the positions of new calls below the existing ones."""
        for node in new:
            if node.depth == _VISITING:
                self._climb(node)

    def get(self, span_id: str | None) -> SpanNode | None:
        """The node of the span with this id; None when there is none."""
        return None if span_id is None else self._all.get(span_id)

    @property
    def agent(self) -> str | None:
        """The name of the agent of the run's root."""
        return self._agent

    def next_agent(self, node: SpanNode) -> str | None:
        """The name of the first agent that begins after this call's start and is not the call's own; None without one
        among the next 100."""
        if self._agents is None:
            self._agents = sorted((candidate for candidate in self.nodes if candidate.kind == "agent"), key=_started)
        first = bisect_left(self._agents, node.span.start_ns, key=_started)
        for later in islice(self._agents, first, first + _MOST_AGENTS):
            if later.actor != node.actor:
                return later.actor
        return None

    def earliest_value(self, name: str) -> str | None:
        """The attribute `name` of the earliest span that has it; None in a run of our SDK. Other instrumentations set
        session and user on their own first span, which is not always the root."""
        if any(names.RUN_ID in node.span.attributes for node in self.roots):
            return None
        return next(
            filter(None, (text(node.span.attributes, name) for node in sorted(self.nodes, key=_earliest))), None
        )

    def _find_roots(self) -> list[SpanNode]:
        """The roots: for runs of our SDK one per attempt; for other traces the one span that encloses the others.

        A run of our SDK whose root has not arrived has none: another span in its place would end the run too early.
        """
        everyone = self._all.values()
        is_ours = any(names.RUN_ID in node.span.attributes for node in everyone)
        begins: dict[int, list[SpanNode]] = {}
        for node in sorted(everyone, key=_earliest):
            if node.span.attributes.get(names.RUN_ROOT) is True:
                begins.setdefault(node.attempt, []).append(node)
        around = None if is_ours and not self._is_trace() else self._outermost(sure=is_ours)
        if around is not None:
            around.root = True
            around.ends_run = self._is_outermost(around.span)
            return [around]
        for several in begins.values():
            several[0].root = True
            last = several[0] if several[0].kind not in names.CALL_KINDS else _last_ended(several)
            if last is not None:
                last.ends_run, last.run_began_ns = True, several[0].span.start_ns
        return [begins[attempt][0] for attempt in sorted(begins)]

    def _is_trace(self) -> bool:
        """Whether the run is only a trace: our spans have no numbers and the trace's id as run id, as calls without an
        agent inside another program's span do."""
        ours = [node for node in self._all.values() if names.RUN_ID in node.span.attributes]
        return all(node.order is None and node.span.attributes[names.RUN_ID] == node.span.trace_id for node in ours)

    def _outermost(self, *, sure: bool) -> SpanNode | None:
        """The span that encloses a trace. `sure`: returns None while a span that arrives later may enclose it."""
        everyone = self._all.values()
        parentless = [node for node in everyone if node.span.parent_id is None]
        orphans = [node for node in everyone if node.span.parent_id not in self._all]
        if sure:
            entries = [node for node in orphans if node.span.kind in _ENTRY]
            parentless = [node for node in parentless or entries if names.RUN_ROOT not in node.span.attributes]
            return min(parentless, key=_earliest, default=None)
        return min(parentless or orphans or everyone, key=_earliest, default=None)

    def _is_outermost(self, span: Span) -> bool:
        """Whether this span is the root of a trace of other instrumentations.

        Children are exported before their parents, so a span whose parent is unknown is usually an early child.  A
        server span is different: its parent is the caller, which may not be recorded here.
        """
        return span.parent_id is None or span.parent_id in self._all or span.kind in _ENTRY

    def _climb(self, node: SpanNode) -> None:
        """Settles the ancestors of a node, topmost first, and then the node."""
        path: list[SpanNode] = []
        here: SpanNode | None = node
        seen: set[str] = set()
        while here is not None and here.depth == _VISITING:
            if here.span.span_id in seen:
                path = _cut_cycle(path, here)
                break
            seen.add(here.span.span_id)
            path.append(here)
            here = None if here.root else self.get(here.span.parent_id)
        for lower in reversed(path):
            self._settle(lower)

    def _settle(self, node: SpanNode) -> None:
        parent = None if node.root else self.get(node.span.parent_id)
        if parent is not None and parent.depth != _VISITING:
            node.parent = parent
            node.depth = parent.depth + 1
            if node.kind == "tool" and _is_seen_further_out(node.span, parent):
                node.kind = None
            node.enclosing_model_call = parent if parent.kind == "llm" else parent.enclosing_model_call
            node.actor = agent_name(node.span, node.kind) or parent.actor
        else:
            node.depth = 0
            node.actor = agent_name(node.span, node.kind) or self._agent
        self.nodes.append(node)

    def _name_steps(self) -> None:
        """Sets kind `step` on spans without a kind that have GenAI calls inside: they show the structure of the run.

        Other spans without a kind (database drivers, HTTP clients), and spans that only carry requests between
        processes, stay in the tree and give no events.
        """
        for node in self.nodes:
            above = node.parent if node.kind is not None else None
            while above is not None and above.kind is None and not above.has_known_descendant:
                above.has_known_descendant = True
                above = above.parent
        for node in self.nodes:
            if node.has_known_descendant and not node.root and node.span.kind in _INTERNAL:
                node.kind = "step"


def _is_seen_further_out(span: Span, parent: SpanNode) -> bool:
    """Whether this span of an MCP library describes the same tool call as the tool span around it."""
    if names.MCP_METHOD not in span.attributes or names.KIND in span.attributes:
        return False
    above: SpanNode | None = parent
    while above is not None and above.kind is None:
        above = above.parent
    return above is not None and above.kind == "tool" and names.MCP_METHOD in above.span.attributes


def _last_ended(calls: Sequence[SpanNode]) -> SpanNode | None:
    """The call that ended last; None while one of them is open."""
    if any(node.span.end_ns is None for node in calls):
        return None

    def end(node: SpanNode) -> tuple[int, int, int]:
        attributes = node.span.attributes
        counted = whole(attributes, names.CALL_ENDED_AFTER) or 0, whole(attributes, names.CALL_END_ORDER) or 0
        return *counted, node.span.end_ns or 0

    return max(calls, key=end)


def _node_of(span: Span) -> SpanNode:
    kind = kind_of(span)
    return SpanNode(span, kind, attempt=attempt_of(span.attributes), order=order_of(span.attributes), own=kind)


def _each_once(spans: Iterable[Span]) -> list[Span]:
    """One span per id, independent of the order of arrival. Of several versions it prefers ended ones, then the latest
    attempt, then the latest end, then the most attributes."""
    by_id: dict[str, Span] = {}
    for span in spans:
        other = by_id.setdefault(span.span_id, span)
        if other is not span and _version_rank(span) > _version_rank(other):
            by_id[span.span_id] = span
    return sorted(by_id.values(), key=lambda span: (span.start_ns, span.span_id))


def _version_rank(span: Span) -> tuple[bool, int, int, int, str]:
    values = sorted((name, repr(value)) for name, value in span.attributes.items())
    return span.end_ns is not None, attempt_of(span.attributes), span.end_ns or 0, len(values), repr(values)


def _cut_cycle(path: list[SpanNode], again: SpanNode) -> list[SpanNode]:
    """The path, reordered so that the cycle's earliest span is its top: the result does not depend on where the walk
    began."""
    start = path.index(again)
    below, cycle = path[:start], path[start:]
    top = cycle.index(min(cycle, key=_earliest))
    # In a path, parents follow their children: the part of the cycle that was above the top moves below its other end.
    return below + cycle[top + 1 :] + cycle[: top + 1]


def _started(node: SpanNode) -> int:
    return node.span.start_ns


def _earliest(node: SpanNode) -> tuple[int, int, int, str]:
    return node.attempt, node.order or 0, node.span.start_ns, node.span.span_id
