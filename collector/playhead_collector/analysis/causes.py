"""[analysis]: what does an event rest on, back to the user's words, and what rested on it later?

Edges are facts (a call returned, a result entered the context) or attributions, with the strength of their rule. A
message that a model had in its context and did not use is no cause: `read` and `answered` are followed only at the
event of the question.

| effect | rests on |
|---|---|
| tool call | the model's answer that asked for it (requested); messages that its values are from (value) |
| model's answer | the evidence for the tool calls that it requests (user_request, follow_up, ...); facts in its text (cites); the newest message (replies); its call (answered) |
| message of a result | the end of the tool call (entered), which rests on its start (returned) |
| message of an answer | the model's answer (said) |
| summary of a context | the answer of the call that wrote it (said); without one, the messages whose facts it has (cites) |
| model call | the messages that were new to it (read) |
| state, plan, handoff, annotation, end of the run | the last answer or result before it (noted, ended) |
"""  # noqa: E501 - a table reads best whole

import asyncio
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.message import message_lines
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.why import CausalEdge, CausalGraph, CausalNode
from playhead_collector.analysis.compression import rules as compression_rules
from playhead_collector.analysis.provenance.attribution import ToolAttribution, attribute, entered_at, traced_call_of
from playhead_collector.analysis.provenance.composed_texts import cited
from playhead_collector.analysis.provenance.contexts import Contexts
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import USER
from playhead_collector.analysis.transcript.loading import read_transcript_page, refs_in_events
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript, Turn
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import fetch

# The rules of edges; attributions have the rules of `provenance`.
RECORDED = StrengthRule(
    "recorded", "strong", "the record says so: a call and its end, a result and its message, a model's input"
)
ANSWERS_NEWEST = StrengthRule(
    "answers_newest", "likely", "an answer rests on the newest message of a user, or the newest message"
)
SAME_FACT = StrengthRule("same_fact", "likely", "an answer has a fact that stands in a user's words or in a result")
LAST_FAILURE = StrengthRule("last_failure", "likely", "a run that failed rests on the last failure before")
LAST_CALL = StrengthRule("last_call", "likely", "the end of a run rests on the last call before")
NOTED_AFTER = StrengthRule("noted_after", "weak", "what a program notes beside its calls rests on the last call before")

# Later calls that are examined. Effects mostly follow soon, and each examined call has to be attributed.
MAX_LATER = 400


@dataclass(frozen=True, slots=True)
class Edge:
    """`effect` rests on `cause`; both are seqs."""

    cause: int
    effect: int
    why: str
    rule: StrengthRule = RECORDED
    path: str | None = None
    quote: str | None = None


class Causes:
    """Finds the edges of single events, and keeps those of each call."""

    def __init__(self, transcript: Transcript, contexts: Contexts | None = None) -> None:
        """`contexts`: of this transcript, if earlier calls were asked about before."""
        self._transcript = transcript
        self._contexts = contexts or Contexts(transcript)
        self._units: list[Turn | ToolRun] = sorted((*transcript.turns, *transcript.tools), key=_last_seq)
        self._of: defaultdict[int, list[Turn | ToolRun]] = defaultdict(list)
        for unit in self._units:
            for seq in _effects(unit):
                self._of[seq].append(unit)
        self._others: defaultdict[int, list[Edge]] = defaultdict(list)
        for edge in _other_edges(transcript):
            self._others[edge.effect].append(edge)
        added = (event for event in transcript.events if isinstance(event, ev.MessageAdded))
        self._summaries = {
            event.seq: (event, made)
            for event in added
            if event.message is not None
            and event.source != "output"
            and (made := transcript.summaries.get(event.message)) is not None
        }
        self._found: dict[int, list[Edge]] = {}

    def causes_of(self, seq: int) -> list[Edge]:
        """Edges to the causes of an event."""
        edges = [edge for unit in self._of[seq] for edge in self._edges(unit)]
        edges += self._edges_of_summary(seq)
        return _distinct(edge for edge in (*edges, *self._others[seq]) if edge.effect == seq)

    def effects_of(self, seq: int) -> list[Edge]:
        """The edges of later events, which include the effects of this one. Of later calls, only `MAX_LATER`."""
        later = self._later(seq)
        others = (edge for edges in self._others.values() for edge in edges if edge.effect > seq)
        summaries = (edge for effect in self._summaries if effect > seq for edge in self._edges_of_summary(effect))
        return _distinct((*(edge for unit in later[:MAX_LATER] for edge in self._edges(unit)), *others, *summaries))

    def has_more_after(self, seq: int) -> bool:
        """Whether there are more calls after this event than are examined."""
        return len(self._later(seq)) > MAX_LATER

    def _edges_of_summary(self, seq: int) -> list[Edge]:
        found = self._summaries.get(seq)
        return [] if found is None else list(_summary_edges(self._transcript, self._contexts, *found))

    def _later(self, seq: int) -> list[Turn | ToolRun]:
        return self._units[bisect_right(self._units, seq, key=_last_seq) :]

    def _edges(self, unit: Turn | ToolRun) -> list[Edge]:
        key = unit.begin.seq
        if key not in self._found:
            transcript, contexts = self._transcript, self._contexts
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


def _last_seq(unit: Turn | ToolRun) -> int:
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
    attribution = attribute(
        transcript, contexts.index, tool, traced_call_of(transcript, tool, contexts.context_of(tool))
    )
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
        yield Edge(event.seq, end.seq, "replies", ANSWERS_NEWEST)
    visible = contexts.context_of_turn(turn)
    for fact, hit in cited(contexts.index, visible, turn.answer_text):
        seq = entered_at(transcript, hit.passage.content, begin.seq)
        if seq is not None:
            yield Edge(seq, end.seq, "cites", SAME_FACT, None, f"{fact}: {hit.quote}")
    for made in transcript.summaries.values():
        if made.summariser == begin.span:  # it may have been given them as the text of one message
            yield from _citations(transcript, contexts, made, turn.answer_text, end.seq)


def _summary_edges(
    transcript: Transcript, contexts: Contexts, event: ev.MessageAdded, made: ev.ContextCompressed
) -> Iterator[Edge]:
    """Edges for a message that stands for removed ones."""
    writers = (turn.end.seq for turn in transcript.turns if turn.end and turn.begin.span == made.summariser)
    written = next(writers, None)
    if written is not None:
        yield Edge(written, event.seq, "said", compression_rules.WRITTEN_BY_A_CALL)
        return
    text = "\n".join(passage.text for passage in transcript.passages(event.message))
    yield from _citations(transcript, contexts, made, text, event.seq)


def _citations(
    transcript: Transcript, contexts: Contexts, made: ev.ContextCompressed, text: str, effect: int
) -> Iterator[Edge]:
    """Edges to the removed messages whose facts a text has. `effect`: the event of the text."""
    visible = contexts.of_messages((*made.summarised, *made.dropped))
    for fact, hit in cited(contexts.index, visible, text):
        seq = entered_at(transcript, hit.passage.content, effect)
        if seq is not None:
            yield Edge(seq, effect, "cites", SAME_FACT, None, f"{fact}: {hit.quote}")


def _is_from_user(transcript: Transcript, event: ev.MessageAdded) -> bool:
    if transcript.message(event.message) is None:
        return event.role == USER
    return any(passage.source == USER for passage in transcript.passages(event.message))


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
                yield from _approval_edges(transcript, event.seq, approval)
            case ev.RunFailed() if failed is not None:
                yield Edge(failed, event.seq, "ended", LAST_FAILURE)
            case ev.RunCompleted() | ev.RunFailed() if last is not None:
                yield Edge(last, event.seq, "ended", LAST_CALL)
            case (
                ev.StateChanged() | ev.PlanCreated() | ev.AgentHandoff() | ev.OrchestrationDecision()
                | ev.CheckpointCreated() | ev.ApprovalRequested() | ev.InputRequested() | ev.InputReceived()
            ) if last is not None:  # fmt: skip
                yield Edge(last, event.seq, "noted", NOTED_AFTER)
            case _:
                pass


def _approval_edges(transcript: Transcript, seq: int, approval: str) -> Iterator[Edge]:
    for event in transcript.events[: transcript.index_of(seq)]:
        if isinstance(event, ev.ApprovalRequested) and event.approval == approval:
            yield Edge(event.seq, seq, "returned")


# --- the graph -------------------------------------------------------------------------------------------------------

Direction = Literal["back", "forward", "both"]
_MAX_NODES, _LABEL = 500, 100
_PASSING = ("read", "answered")


async def answer_causes(record: RunRecord, at: str, direction: Direction = "both") -> CausalGraph:
    """Returns the graph of causes and effects around an event.  Raises Refused."""
    seq = await seq_at(record, at)
    transcript = await read_transcript_page(record, seq - 1, MAX_LATER, ev.LlmCompleted, with_contexts=True)
    walk = await asyncio.to_thread(_walked, transcript, seq, direction)
    # Causes before the first event of the page are nodes, too, but their own causes are not searched.
    before = [node_seq for node_seq in sorted(walk.distances) if node_seq < transcript.events[0].seq]
    events = [await record.event(node_seq) for node_seq in before]
    cache = await fetch(record.store, record.project_id, refs_in_events(events))
    beyond = Transcript(transcript.run, events, cache, {})
    nodes = [_node_answer(beyond, event, walk.distances[event.seq]) for event in events]
    nodes += [
        _node_answer(transcript, transcript.event(node_seq), walk.distances[node_seq])
        for node_seq in sorted(walk.distances)[len(before) :]
    ]
    has_cause = {edge.effect for edge in walk.chosen}
    goes_on = direction != "back" and transcript.events[-1].seq < record.last
    return {
        "run": transcript.run,
        "seq": seq,
        "direction": direction,
        "nodes": nodes,
        "edges": [_edge_answer(edge) for edge in walk.chosen],
        "roots": [node_seq for node_seq in sorted(walk.distances) if node_seq not in has_cause],
        "truncated": walk.truncated or bool(before) or goes_on,
    }


def _walked(transcript: Transcript, seq: int, direction: Direction) -> "_Walk":
    walk = _Walk(Causes(transcript), seq)
    if direction != "forward":
        walk.back()
    if direction != "back":
        walk.forward()
    return walk


class _Walk:
    """Follows edges from an event, nearest first, until there are as many nodes as an answer may have."""

    def __init__(self, causes: Causes, start: int) -> None:
        self.distances = {start: 0}
        self.chosen: dict[Edge, None] = {}
        self.truncated = False
        self._causes, self._start = causes, start

    def back(self) -> None:
        """Follows edges to causes. Only tool calls on the way are attributed."""
        self._follow("back", self._causes.causes_of)

    def forward(self) -> None:
        """Follows edges to effects. Any later call may be one, so all later calls are attributed, up to a limit."""
        beside: defaultdict[int, list[Edge]] = defaultdict(list)
        edges, self.truncated = (
            self._causes.effects_of(self._start),
            self.truncated or self._causes.has_more_after(self._start),
        )
        for edge in edges:
            beside[edge.cause].append(edge)
        self._follow("forward", lambda seq: beside[seq])

    def _follow(self, way: str, edges_at: Callable[[int], Iterable[Edge]]) -> None:
        waiting, seen = deque([(self._start, 0)]), {self._start}
        while waiting:
            here, distance = waiting.popleft()
            for edge in edges_at(here):
                if not _leads_on(edge, self._start, way):
                    continue
                there = edge.cause if way == "back" else edge.effect
                if there not in self.distances and len(self.distances) == _MAX_NODES:
                    self.truncated = True
                    return
                self.distances.setdefault(there, distance + 1)
                self.chosen[edge] = None
                if there not in seen:
                    seen.add(there)
                    waiting.append((there, distance + 1))


def _leads_on(edge: Edge, start: int, way: str) -> bool:
    if edge.why not in _PASSING or start in (edge.cause, edge.effect):
        return True
    return edge.why == "answered" and way == "back"


# --- answers ----------------------------------------------------------------------------------------------------------


def _node_answer(transcript: Transcript, event: ev.RunEvent, distance: int) -> CausalNode:
    return {
        "seq": event.seq,
        "event": event.id,
        "kind": event.original_kind if isinstance(event, ev.UnknownEvent) else event.kind,
        "time": rfc3339(event.time_ns),
        "actor": event.actor,
        "label": _label(transcript, event),
        "distance": distance,
    }


def _label(transcript: Transcript, event: ev.RunEvent) -> str:
    match event:
        case ev.MessageAdded(role=role, message=ref):
            message = transcript.message(ref)
            lines = message_lines(message) if message else ["(not stored)"]
            text = f"{role}: " + "\n".join(filter(None, lines))
        case ev.ToolCalled(name=name, arguments=ref):
            text = f"{name}({_json_text(transcript, ref)})"
        case ev.ToolCompleted(name=name, result=ref):
            text = f"{name} → {_json_text(transcript, ref)}"
        case ev.ToolFailed(name=name, error_type=error, message=why):
            text = f"{name} raised {error}: {why}"
        case ev.LlmCalled(model=model) | ev.LlmCompleted(model=model) | ev.LlmFailed(model=model):
            text = model or "model"
        case ev.StateChanged(key=key, value=ref):
            text = f"{key} = {_json_text(transcript, ref)}"
        case ev.AgentHandoff(to=to):
            text = f"to {to}"
        case _:
            text = event.original_kind if isinstance(event, ev.UnknownEvent) else event.kind
    text = " ".join(text.split())
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"


def _json_text(transcript: Transcript, ref: ContentRef | None) -> str:
    return "" if ref is None else canonical_json(transcript.cache.parsed(ref)).decode("utf-8", "replace")


def _edge_answer(edge: Edge) -> CausalEdge:
    return {
        "cause": edge.cause,
        "effect": edge.effect,
        "why": edge.why,
        "path": edge.path,
        "strength": edge.rule.strength,
        "rule": edge.rule.name,
        "quote": edge.quote,
    }
