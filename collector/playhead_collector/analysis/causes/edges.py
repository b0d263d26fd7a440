"""[analysis]: edges between the events of a run: which event rests on which. Pure.

Edges are facts (a call returned, a result entered the context) or attributions, with the strength of their rule. A
message that a model had in its context and did not use is no cause: `read` and `answered` are followed only at the
event of the question.

| effect | rests on |
|---|---|
| tool call | the model's answer that asked for it (requested); messages that its values are from (value) |
| model's answer | the evidence for the tool calls that it requests (user_request, follow_up, ...); facts in its text (cites); the newest message (replies); its call (answered) |
| message of a result | the end of the tool call (entered), which rests on its start (returned) |
| message of an answer | the model's answer (said) |
| model call | the messages that were new to it (read) |
| state, plan, handoff, annotation, end of the run | the last answer or result before it (noted, ended) |
"""  # noqa: E501 - a table reads best whole

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from playhead.model import event as ev
from playhead_collector.analysis.causes import rules
from playhead_collector.analysis.provenance.attribution import ToolAttribution, attribute, entered_at, traced_call_of
from playhead_collector.analysis.provenance.composed_texts import cited
from playhead_collector.analysis.provenance.contexts import Contexts
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import USER, passages_of
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript, Turn

# Later calls that are examined. Effects mostly follow soon, and each examined call has to be attributed.
MAX_LATER = 400


@dataclass(frozen=True, slots=True)
class Edge:
    """`effect` rests on `cause`; both are seqs."""

    cause: int
    effect: int
    why: str
    rule: StrengthRule = rules.RECORDED
    path: str | None = None
    quote: str | None = None


class Causes:
    """Finds the edges of single events, and keeps those of each call."""

    def __init__(self, transcript: Transcript) -> None:
        self._story = transcript
        self._contexts = Contexts(transcript)
        self._units: list[Turn | ToolRun] = sorted((*transcript.turns, *transcript.tools), key=_last_of)
        self._of: defaultdict[int, list[Turn | ToolRun]] = defaultdict(list)
        for unit in self._units:
            for seq in _effects(unit):
                self._of[seq].append(unit)
        self._others: defaultdict[int, list[Edge]] = defaultdict(list)
        for edge in _other_edges(transcript):
            self._others[edge.effect].append(edge)
        self._found: dict[int, list[Edge]] = {}

    def causes_of(self, seq: int) -> list[Edge]:
        """Edges to the causes of an event."""
        edges = [edge for unit in self._of[seq] for edge in self._edges(unit)]
        return _distinct(edge for edge in (*edges, *self._others[seq]) if edge.effect == seq)

    def effects_of(self, seq: int) -> list[Edge]:
        """The edges of later events, which include the effects of this one. Of later calls, only `MAX_LATER`."""
        later = self._later(seq)
        others = (edge for edges in self._others.values() for edge in edges if edge.effect > seq)
        return _distinct((*(edge for unit in later[:MAX_LATER] for edge in self._edges(unit)), *others))

    def has_more_after(self, seq: int) -> bool:
        """Whether there are more calls after this event than are examined."""
        return len(self._later(seq)) > MAX_LATER

    def _later(self, seq: int) -> list[Turn | ToolRun]:
        return self._units[bisect_right(self._units, seq, key=_last_of) :]

    def _edges(self, unit: Turn | ToolRun) -> list[Edge]:
        key = unit.begin.seq
        if key not in self._found:
            transcript, contexts = self._story, self._contexts
            edges = (
                _turn_edges(transcript, contexts, unit)
                if isinstance(unit, Turn)
                else _tool_edges(transcript, contexts, unit)
            )
            self._found[key] = list(edges)
        return self._found[key]


def _effects(unit: Turn | ToolRun) -> Iterator[int]:
    """Yields the seqs of the events of a call that may be effects."""
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


def _distinct(edges: Iterable[Edge]) -> list[Edge]:
    """Drops duplicate edges (of equal cause, effect, reason and path the last one stays) and edges whose cause does not
    come before its effect.
    """
    edges_by_key = {(edge.cause, edge.effect, edge.why, edge.path): edge for edge in edges if edge.cause < edge.effect}
    return list(edges_by_key.values())


# --- edges ------------------------------------------------------------------------------------------------------------


def _tool_edges(transcript: Transcript, contexts: Contexts, tool: ToolRun) -> Iterator[Edge]:
    begin, end = tool.begin, tool.end
    attribution = attribute(transcript, contexts.index, tool, traced_call_of(transcript, tool, contexts.at(tool)))
    decided = tool.turn.end.seq if tool.request and tool.turn and tool.turn.end else None
    if decided is not None:
        yield Edge(decided, begin.seq, "requested")
    for evidence in attribution.evidence:
        if evidence.seq is not None and evidence.seq != decided:
            yield Edge(evidence.seq, decided or begin.seq, attribution.kind, attribution.rule, None, evidence.quote)
    yield from _value_edges(transcript, attribution)
    if end is not None:
        yield Edge(begin.seq, end.seq, "returned")
        if tool.result_seq is not None:
            yield Edge(end.seq, tool.result_seq, "entered")


def _value_edges(transcript: Transcript, attribution: ToolAttribution) -> Iterator[Edge]:
    begin = attribution.tool.begin
    for origin in attribution.origins:
        for hit in origin.evidence:
            seq = entered_at(transcript, hit.passage.content, begin.seq)
            if seq is not None:
                yield Edge(seq, begin.seq, "value", origin.rule, origin.path, hit.quote)


def _turn_edges(transcript: Transcript, contexts: Contexts, turn: Turn) -> Iterator[Edge]:
    begin, end = turn.begin, turn.end
    for event in turn.new_messages:
        yield Edge(event.seq, begin.seq, "read")
    if end is None:
        return
    yield Edge(begin.seq, end.seq, "answered")
    for output in turn.outputs:
        yield Edge(end.seq, output.seq, "said")
    if turn.requests:
        return
    users = [event for event in turn.new_messages if _is_from_user(transcript, event)]
    for event in users[-1:] or turn.new_messages[-1:]:
        yield Edge(event.seq, end.seq, "replies", rules.ANSWERS_NEWEST)
    visible = contexts.of_turn(turn)
    for fact, hit in cited(contexts.index, visible, turn.answer_text):
        seq = entered_at(transcript, hit.passage.content, begin.seq)
        if seq is not None:
            yield Edge(seq, end.seq, "cites", rules.SAME_FACT, None, f"{fact}: {hit.quote}")


def _is_from_user(transcript: Transcript, event: ev.MessageAdded) -> bool:
    message = transcript.message(event.message)
    if message is None or event.message is None:
        return event.role == USER
    return any(passage.source == USER for passage in passages_of(event.message, message))


def _other_edges(transcript: Transcript) -> Iterator[Edge]:
    """Edges for events beside calls (state, plan, handoff, ...): to the last answer or result before them."""
    last: int | None = None
    failed: int | None = None
    started: dict[str | None, int] = {}
    for event in transcript.events:
        match event:
            case ev.LlmCompleted() | ev.ToolCompleted():
                last = event.seq
            case ev.LlmFailed() | ev.ToolFailed():
                last = failed = event.seq
            case ev.StepStarted():
                started[event.span] = event.seq
            case ev.StepCompleted() if event.span in started:
                yield Edge(started[event.span], event.seq, "returned")
            case ev.ApprovalGranted(approval=approval) | ev.ApprovalDenied(approval=approval):
                yield from _requested(transcript, event.seq, approval)
            case ev.RunFailed() if failed is not None:
                yield Edge(failed, event.seq, "ended", rules.LAST_FAILURE)
            case ev.RunCompleted() | ev.RunFailed() if last is not None:
                yield Edge(last, event.seq, "ended", rules.LAST_CALL)
            case (
                ev.StateChanged() | ev.PlanCreated() | ev.AgentHandoff() | ev.OrchestrationDecision()
                | ev.CheckpointCreated() | ev.ApprovalRequested() | ev.InputRequested() | ev.InputReceived()
            ) if last is not None:  # fmt: skip
                yield Edge(last, event.seq, "noted", rules.NOTED_AFTER)
            case _:
                pass


def _requested(transcript: Transcript, seq: int, approval: str) -> Iterator[Edge]:
    for event in transcript.events[: transcript.index_of(seq)]:
        if isinstance(event, ev.ApprovalRequested) and event.approval == approval:
            yield Edge(event.seq, seq, "returned")
