"""[projection]: the state of a run's projection, kept so that of a growing run only the new data is projected.

New data that sorts after all events so far becomes the next events; otherwise `continue_with` returns None and the run
is projected from all its data again.  Both ways give the same events.  The state is kept for runs whose calls and log
events all have numbers, as our SDK's do.  Projected from all data each time: runs with spans or log records of other
senders, runs recorded by several processes, forks, and runs that have ended.  Of calls that have ended, only the fields
that later events need are kept.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from playhead.model import event as ev
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RUNNING, RunState
from playhead.projection.attributes import agent_name, attempt_of, kind_of, order_of, replaced_by, whole
from playhead.projection.call_events import EventWriter
from playhead.projection.duplicate_calls import has_content, is_ours
from playhead.projection.inputs import Projection, RunInput
from playhead.projection.known_messages import KnownMessages, MessagesNeeded
from playhead.projection.order import END, Key, TimelineEntry, holes, last_key, log_entry, logs_once, numbered_entries
from playhead.projection.relations import Relations
from playhead.projection.span_tree import SpanNode, SpanTree
from playhead.projection.summary import RunTotals, row_of, states

# Approximate memory in this state of a call, and of a thread node with its message, in bytes (by tracemalloc).
_PER_CALL, _PER_NODE = 1_200, 1_100
# A run with more missing contents than this is projected from all its data each time.
_MOST_MISSING = 10_000


class _StartOver(Exception):
    """The new data sorts before an existing event, or changes one."""


@dataclass(frozen=True, slots=True)
class ProjectedRun:
    """The result of a projection from all data, which `ProjectionState` continues."""

    tree: SpanTree
    logs: Sequence[LogEvent]
    writer: EventWriter
    known: KnownMessages
    state: RunState
    totals: RunTotals


def continuable_state(run: str, projected: ProjectedRun) -> "ProjectionState | None":
    """The state to continue from; None for a run that has to be projected from all its data each time."""
    ours = all(is_ours(node) for node in projected.tree.nodes if node.own == "llm")
    counted = projected.tree.is_counted and all(_is_counted(node.span) for node in projected.tree.nodes)
    all_numbered = all(order_of(log.attributes) is not None for log in projected.logs)
    return ProjectionState(run, projected) if projected.tree.nodes and ours and counted and all_numbered else None


class ProjectionState:
    """The state of a run's projection.  It may be discarded at any time, and must be discarded after an error."""

    def __init__(self, run: str, projected: ProjectedRun) -> None:
        self._run = run
        self._tree, self._writer, self._known = projected.tree, projected.writer, projected.known
        self._state, self._totals, self._last = (
            projected.state,
            projected.totals,
            last_key(projected.tree, projected.logs),
        )
        self._keep_threads(projected)
        self._replaced = [span for log in projected.logs if log.name == names.RESUMED for span in replaced_by(log)]
        self._versions = {node.span.span_id: _version(node.span) for node in projected.tree.nodes}
        self._logs = {_log_key(log) for log in projected.logs}
        self._goes_on = any(log.name == names.RESUMED and order_of(log.attributes) for log in projected.logs)
        self._orders = {node.order for node in projected.tree.nodes if node.order} | {
            order for log in projected.logs if (order := order_of(log.attributes))
        }
        self._last_order = max(self._orders, default=0)
        self._earliest_ns = min((node.span.start_ns for node in projected.tree.nodes), default=None)
        self._relations = Relations(run, (node.span for node in projected.tree.nodes))
        # Ids of spans that have not arrived and that other spans or log events refer to.
        self._absent = {node.span.parent_id for node in projected.tree.nodes if node.parent is None}
        self._absent |= {log.span_id for log in projected.logs if projected.tree.get(log.span_id) is None}
        self._waiting: deque[TimelineEntry] = deque()
        self._altered: list[ev.RunEvent] = []
        for node in projected.tree.nodes:
            _forget(node)

    @property
    def bytes(self) -> int:
        """Approximate memory of this state, in bytes."""
        return _PER_CALL * len(self._versions) + _PER_NODE * len(self._nodes)

    @property
    def missing(self) -> set[ContentRef]:
        """Refs of contents whose arrival would change the projected events."""
        return self._known.missing

    def continue_with(self, work: RunInput, every: int) -> Projection | None:
        """Projects the new data in `work`. None: discard this state and project the run from all its data.

        When the result has `unread` messages, it is not final: read them and call this again with the same `work`.
        """
        try:
            if not self._waiting:
                self._update_contents(work)
                self._waiting.extend(moment for _, moment in self._in_order(self._take(work)))
            else:
                self._known.mark_missing()
            return self._write(every)
        except _StartOver:
            return None

    # --- what arrived -----------------------------------------------------------------------------------------------

    def _update_contents(self, work: RunInput) -> None:
        missing = self._known.missing
        if len(missing) > _MOST_MISSING or any(ref in work.nodes or ref in work.roles for ref in missing):
            raise _StartOver
        self._nodes.update(work.nodes)
        self._roles.update(work.roles)
        self._known.messages = work.messages

    def _take(self, work: RunInput) -> list[tuple[Key, TimelineEntry]]:
        """Moments of the new data (starts and ends of calls, log events), with their keys in the run's order."""
        entries: list[tuple[Key, TimelineEntry]] = []
        new: list[SpanNode] = []
        for span in work.spans:
            self._relations.add(span)
            version_before = self._versions.get(span.span_id)
            if version_before is None:
                new.append(self._tree.join(span))
                self._versions[span.span_id] = _version(span)
            elif version_before != (version := _version(span)):
                entries += self._end(span)
                self._versions[span.span_id] = version
        self._add_calls(new)
        for node in new:
            entries += numbered_entries(node, self._attempt(node.attempt))
        entries += self._log_entries(work.logs)
        return entries

    def _attempt(self, attempt: int) -> int:
        return 0 if self._goes_on else attempt

    def _add_calls(self, new: Sequence[SpanNode]) -> None:
        """Adds new calls to the tree.  Raises _StartOver if that changes events of other calls."""
        for node in new:
            attributes, span = node.span.attributes, node.span
            if node.order is None or node.kind is None or attributes.get(names.RUN_ROOT) is True:
                raise _StartOver
            if span.span_id in self._absent or names.FORK_OF in attributes or not _is_counted(span):
                raise _StartOver
        self._tree.settle(new)
        for node in new:
            if node.own == "llm":
                if not is_ours(node):
                    raise _StartOver
                _update_enclosing(node, {id(call) for call in new})
        for node in self._tree.nodes[len(self._tree.nodes) - len(new) :]:  # parents before children
            if node.parent is None:
                self._absent.add(node.span.parent_id)
            above = node.parent
            node.enclosing_model_call = (
                None if above is None else above if above.kind == "llm" else above.enclosing_model_call
            )
            order = node.order or 0
            self._orders.add(order)
            self._last_order = max(self._last_order, order)
            start = node.span.start_ns
            self._earliest_ns = start if self._earliest_ns is None else min(self._earliest_ns, start)

    def _end(self, span: Span) -> Iterator[tuple[Key, TimelineEntry]]:
        """Yields the end of a call whose start is in the tree already."""
        node = self._tree.get(span.span_id)
        if node is None or node.span.end_ns is not None:
            raise _StartOver  # a second version of the same end
        if span.end_ns is None or not _is_the_same(node, span) or not _is_counted(span):
            raise _StartOver
        if span.span_id in self._writer.conversations.interrupted:
            raise _StartOver
        node.span = span
        if node.around and (node.kind == "llm") != has_content(node):
            raise _StartOver
        _, end = numbered_entries(node, self._attempt(node.attempt))
        yield end

    def _log_entries(self, logs: Iterable[LogEvent]) -> Iterator[tuple[Key, TimelineEntry]]:
        for n, log in enumerate(logs_once(logs)):
            key, order = _log_key(log), order_of(log.attributes)
            if key in self._logs:
                continue
            if order is None or log.name == names.RESUMED:
                raise _StartOver
            self._logs.add(key)
            self._orders.add(order)
            self._last_order = max(self._last_order, order)
            node = self._tree.get(log.span_id)
            if node is None and log.span_id is not None:
                self._absent.add(log.span_id)
            attempt = attempt_of(log.attributes) or (node.attempt if node else 0)
            yield log_entry(log, node, self._attempt(attempt), n)

    def _in_order(self, entries: list[tuple[Key, TimelineEntry]]) -> list[tuple[Key, TimelineEntry]]:
        entries.sort(key=itemgetter(0))
        # Keys that differ only in the last number (the position within one batch) have no known order across batches.
        if entries and self._last is not None and entries[0][0][:-1] <= self._last[:-1]:
            raise _StartOver
        self._last = entries[-1][0] if entries else self._last
        return entries

    # --- new events -------------------------------------------------------------------------------------------------

    def _write(self, every: int) -> Projection:
        messages = self._known
        while self._waiting:
            moment = self._waiting[0]
            node = moment.node
            try:
                if moment.log is None and node is not None and node.span.span_id in self._writer.open_starts:
                    self._altered += self._rewrite_start(node)
                self._writer.write(moment)
            except MessagesNeeded:
                return Projection((), self._row(), (), set(messages.unread), appended=True)
            self._waiting.popleft()
            if moment.kind == END and node is not None:
                _forget(node)
        messages.messages = {}
        messages.mark_missing()
        events, altered, self._altered = self._writer.pop_events(), self._altered, []
        self._totals.add(events)
        self._state, snapshots = _grown(self._state, events, every)
        return Projection(events, self._row(), snapshots, appended=True, altered=altered, progress=self._kept())

    def _rewrite_start(self, node: SpanNode) -> list[ev.RunEvent]:
        """Returns the events of a call's start that its ended span changes. Raises _StartOver if other events depend on
        the change."""
        altered = self._writer.rewrite_start(node)
        if any(_bare(old) != _bare(new) for old, new in altered):
            raise _StartOver
        if node.kind == "llm":
            tokens = whole(node.span.attributes, names.INPUT_TOKENS)
            if not self._writer.conversations.set_input_tokens(node.span.span_id, tokens):
                raise _StartOver
        return [new for _, new in altered]

    def _kept(self) -> "ProjectionState | None":
        return self if self._state.status == RUNNING else None

    def _row(self) -> Any:
        missing = holes(self._orders, self._replaced) if self._replaced else self._last_order - len(self._orders)
        return row_of(
            self._run,
            self._totals,
            self._state,
            earliest_ns=self._earliest_ns,
            spans_missing=max(0, missing),
            sealed=False,
            relations=self._relations,
        )

    # --- threads ----------------------------------------------------------------------------------------------------

    def _keep_threads(self, projected: ProjectedRun) -> None:
        """Copies the threads and roles that the writer looks up into this state, where new ones are added."""
        self._nodes = projected.writer.conversations.keep_nodes()
        roles = projected.known.roles
        self._roles = {node.message: roles[node.message] for node in self._nodes.values() if node.message in roles}
        projected.known.mark_missing()
        projected.known.roles, projected.known.messages, projected.known.strict = self._roles, {}, True


def _version(span: Span) -> int:
    return hash(repr(span))


def _log_key(log: LogEvent) -> int:
    return hash((log.time_ns, log.name, log.span_id or "", canonical_json(log.attributes)))


def _is_counted(span: Span) -> bool:
    return span.end_ns is None or whole(span.attributes, names.CALL_ENDED_AFTER) is not None


def _is_the_same(node: SpanNode, span: Span) -> bool:
    """Whether the ended span equals the announced one in the fields on which the tree and the order depend."""
    begun = node.span
    return (
        (span.trace_id, span.parent_id, span.name, span.start_ns, span.kind, span.scope)
        == (begun.trace_id, begun.parent_id, begun.name, begun.start_ns, begun.kind, begun.scope)
        and kind_of(span) == kind_of(begun)
        and agent_name(span, node.kind) == agent_name(begun, node.kind)
        and order_of(span.attributes) == node.order
        and attempt_of(span.attributes) == node.attempt
        and all(span.attributes.get(name) == begun.attributes.get(name) for name in _STRUCTURE)
    )


_STRUCTURE = (names.RUN_ID, names.RUN_ROOT, names.FORK_OF, names.INPUT_MESSAGES_REF)


def _update_enclosing(node: SpanNode, new: set[int]) -> None:
    """Updates the model calls around a new one: those without content of their own become steps (see `model_calls`)."""
    above = node.parent
    while above is not None:
        if above.own == "llm":
            above.around = True
            kind = "llm" if has_content(above) else "step"
            if id(above) in new:
                above.kind = kind
            elif above.span.end_ns is not None or above.kind != kind:
                raise _StartOver
        above = above.parent


def _forget(node: SpanNode) -> None:
    """Drops the attributes of a call that has ended, except those that later events need."""
    span = node.span
    if span.end_ns is not None:
        reduced = Span(span.trace_id, span.span_id, span.parent_id, "", span.start_ns, span.end_ns, _NOTHING, span.kind)
        reduced.scope, reduced.resource, reduced.events, reduced.links = span.scope, _NOTHING, _NONE, _NONE
        node.span = reduced


_NOTHING: dict[str, Any] = {}
_NONE: list[Any] = []

# Fields of a start's event that states, sums and later events do not depend on.
_NEUTRAL: Mapping[type[ev.Event], Mapping[str, Any]] = {
    ev.ContextCompressed: {"tokens_after": None},
    ev.LlmCalled: dict.fromkeys(
        ("provider", "operation", "messages", "task", "turn", "system", "request", "exact", "input")
    )
    | {"stream": False},
    ev.ToolCalled: {"arguments": None},
    ev.StepStarted: {"input": None},
}


def _bare(event: ev.RunEvent) -> ev.RunEvent:
    return replace(event, **_NEUTRAL.get(type(event), {}))


def _grown(state: RunState, events: Sequence[ev.RunEvent], every: int) -> tuple[RunState, list[RunState]]:
    """The state after these events, and the states after every `every` events of the run."""
    snapshots: list[RunState] = []
    first = min(len(events), -state.seq % every)
    if first:
        state, _ = states(events[:first], every + 1, state)
        if state.seq % every == 0:
            snapshots.append(state)
    state, more = states(events[first:], every, state)
    return state, [*snapshots, *more]
