"""[analysis]: what rests on what in a run, as edges between its events.  Pure.

Edges are facts (a call returned, a result entered the context) or attributions, with their confidence. What a model had
in its context and did not use is no cause: `read` and `answered` are followed only from the event in question.

| effect | rests on |
|---|---|
| tool call | the model's answer that asked for it (requested); messages that its values are from (value) |
| model's answer | the evidence of what it asked for (user_request, follow_up, ...); facts that it tells (cites); the newest message (replies); its call (answered) |
| message of a result | the end of the tool call (entered); that on its start (returned) |
| message said | the model's answer (said) |
| model call | the messages that were new to it (read) |
| state, plan, handoff, annotation, end of the run | the last answer or result before it (noted, ended) |
"""  # noqa: E501 - a table reads best whole

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from playhead.model import event as ev
from playhead_collector.analysis.provenance.attribution import Attributed, asked_by, attribute, entered_at
from playhead_collector.analysis.provenance.composed_texts import cited
from playhead_collector.analysis.provenance.contexts import Contexts
from playhead_collector.analysis.texts.passages import USER, passages_of
from playhead_collector.analysis.transcript.transcript import ToolRun, Turn, Turns

# Whatever rests on an event mostly does so soon, and each later call has to be attributed to know.
MOST_LATER = 400


@dataclass(frozen=True, slots=True)
class Edge:
    """`effect` rests on `cause`; both are seqs."""

    cause: int
    effect: int
    why: str
    confidence: float = 1.0
    path: str | None = None
    quote: str | None = None


class Causes:
    """All that rests on something in a run, found for the events that are asked about."""

    def __init__(self, story: Turns) -> None:
        self._story = story
        self._contexts = Contexts(story)
        self._units: list[Turn | ToolRun] = sorted((*story.turns, *story.tools), key=_last_of)
        self._of: defaultdict[int, list[Turn | ToolRun]] = defaultdict(list)
        for unit in self._units:
            for seq in _effects(unit):
                self._of[seq].append(unit)
        self._others: defaultdict[int, list[Edge]] = defaultdict(list)
        for edge in _other_edges(story):
            self._others[edge.effect].append(edge)
        self._found: dict[int, list[Edge]] = {}

    def into(self, seq: int) -> list[Edge]:
        """The edges to what an event rests on."""
        edges = [edge for unit in self._of[seq] for edge in self._edges(unit)]
        return _once(edge for edge in (*edges, *self._others[seq]) if edge.effect == seq)

    def after(self, seq: int) -> list[Edge]:
        """The edges of what came after an event, as far as it is looked through."""
        later = self._later(seq)
        others = (edge for edges in self._others.values() for edge in edges if edge.effect > seq)
        return _once((*(edge for unit in later[:MOST_LATER] for edge in self._edges(unit)), *others))

    def goes_on(self, seq: int) -> bool:
        """Whether there is more after an event than is looked through."""
        return len(self._later(seq)) > MOST_LATER

    def _later(self, seq: int) -> list[Turn | ToolRun]:
        return self._units[bisect_right(self._units, seq, key=_last_of) :]

    def _edges(self, unit: Turn | ToolRun) -> list[Edge]:
        key = unit.begin.seq
        if key not in self._found:
            story, contexts = self._story, self._contexts
            edges = _turn_edges(story, contexts, unit) if isinstance(unit, Turn) else _tool_edges(story, contexts, unit)
            self._found[key] = list(edges)
        return self._found[key]


def _effects(unit: Turn | ToolRun) -> Iterator[int]:
    """The events of a call that may rest on something."""
    yield unit.begin.seq
    if unit.end is not None:
        yield unit.end.seq
    if isinstance(unit, Turn):
        yield from (event.seq for event in unit.outputs)
        return
    if unit.result_seq is not None:
        yield unit.result_seq
    if unit.request is not None and unit.turn is not None and unit.turn.end is not None:
        yield unit.turn.end.seq


def _last_of(unit: Turn | ToolRun) -> int:
    return max(_effects(unit))


def _once(edges: Iterable[Edge]) -> list[Edge]:
    """The last of those that say the same; a cause comes before its effect."""
    kept = {(edge.cause, edge.effect, edge.why, edge.path): edge for edge in edges if edge.cause < edge.effect}
    return list(kept.values())


# --- edges ------------------------------------------------------------------------------------------------------------


def _tool_edges(story: Turns, contexts: Contexts, tool: ToolRun) -> Iterator[Edge]:
    begin, end = tool.begin, tool.end
    found = attribute(story, contexts.index, tool, asked_by(story, tool, contexts.at(tool)))
    decided = tool.turn.end.seq if tool.request and tool.turn and tool.turn.end else None
    if decided is not None:
        yield Edge(decided, begin.seq, "requested")
    for each in found.evidence:
        if each.seq is not None and each.seq != decided:
            yield Edge(each.seq, decided or begin.seq, found.kind, found.confidence, None, each.quote)
    yield from _value_edges(story, found)
    if end is not None:
        yield Edge(begin.seq, end.seq, "returned")
        if tool.result_seq is not None:
            yield Edge(end.seq, tool.result_seq, "entered")


def _value_edges(story: Turns, found: Attributed) -> Iterator[Edge]:
    begin = found.tool.begin
    for origin in found.origins:
        for hit in origin.evidence:
            seq = entered_at(story, hit.passage.content, begin.seq)
            if seq is not None:
                yield Edge(seq, begin.seq, "value", origin.confidence, origin.path, hit.quote)


def _turn_edges(story: Turns, contexts: Contexts, turn: Turn) -> Iterator[Edge]:
    begin, end = turn.begin, turn.end
    for event in turn.new:
        yield Edge(event.seq, begin.seq, "read")
    if end is None:
        return
    yield Edge(begin.seq, end.seq, "answered")
    for output in turn.outputs:
        yield Edge(end.seq, output.seq, "said")
    if turn.requests:
        return
    users = [event for event in turn.new if _is_from_user(story, event)]
    for event in users[-1:] or turn.new[-1:]:
        yield Edge(event.seq, end.seq, "replies", 0.8)
    visible = contexts.of_turn(turn)
    for fact, hit in cited(contexts.index, visible, turn.said):
        seq = entered_at(story, hit.passage.content, begin.seq)
        if seq is not None:
            yield Edge(seq, end.seq, "cites", 0.7, None, f"{fact}: {hit.quote}")


def _is_from_user(story: Turns, event: ev.MessageAdded) -> bool:
    message = story.message(event.message)
    if message is None or event.message is None:
        return event.role == USER
    return any(passage.source == USER for passage in passages_of(event.message, message))


def _other_edges(story: Turns) -> Iterator[Edge]:
    """Events that tell of something beside calls rest on the last answer or result before them."""
    last: int | None = None
    failed: int | None = None
    started: dict[str | None, int] = {}
    for event in story.events:
        match event:
            case ev.LlmCompleted() | ev.ToolCompleted():
                last = event.seq
            case ev.LlmFailed() | ev.ToolFailed():
                last = failed = event.seq
            case ev.StepStarted():
                started[event.span] = event.seq
            case ev.StepCompleted() if event.span in started:
                yield Edge(started[event.span], event.seq, "returned")
            case ev.ApprovalReceived(approval=approval):
                yield from _requested(story, event.seq, approval)
            case ev.RunFailed() if failed is not None:
                yield Edge(failed, event.seq, "ended", 0.7)
            case ev.RunCompleted() | ev.RunFailed() if last is not None:
                yield Edge(last, event.seq, "ended")
            case (
                ev.StateChanged() | ev.PlanCreated() | ev.AgentHandoff() | ev.OrchestrationDecision()
                | ev.CheckpointCreated() | ev.ApprovalRequested()
            ) if last is not None:  # fmt: skip
                yield Edge(last, event.seq, "noted", 0.5)
            case _:
                pass


def _requested(story: Turns, seq: int, approval: str) -> Iterator[Edge]:
    for event in story.events[: story.place(seq)]:
        if isinstance(event, ev.ApprovalRequested) and event.approval == approval:
            yield Edge(event.seq, seq, "returned")
