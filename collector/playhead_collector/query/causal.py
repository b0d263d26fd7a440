"""What does an event rest on, back to the user's words, and what rested on it?

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

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from playhead.model import event as ev
from playhead.model.answers_why import CausalEdge, CausalGraph, CausalNode
from playhead.model.canonical import canonical_json
from playhead.model.message import message_text
from playhead.model.ref import ContentRef
from playhead_collector.query.asked import Asked
from playhead_collector.query.attribution import Attributed, attribute, entered_at
from playhead_collector.query.composed import cited
from playhead_collector.query.contexts import Contexts
from playhead_collector.query.moment import seq_at
from playhead_collector.query.passages import USER, passages_of
from playhead_collector.query.record import RunRecord
from playhead_collector.query.times import rfc3339
from playhead_collector.query.turns import ToolRun, Turn, Turns, read_turns

Direction = Literal["back", "forward", "both"]
_MOST_NODES, _LABEL = 500, 100
_PASSING = ("read", "answered")


@dataclass(frozen=True, slots=True)
class Edge:
    """`effect` rests on `cause`; both are seqs."""

    cause: int
    effect: int
    why: str
    confidence: float = 1.0
    path: str | None = None
    quote: str | None = None


async def answer_causes(record: RunRecord, at: str, direction: Direction = "both") -> CausalGraph:
    """The graph around an event.  Raises Refused."""
    seq = await seq_at(record, at)
    story = await read_turns(record)
    edges = await asyncio.to_thread(lambda: list(edges_of(story)))
    return graph(story, edges, seq, direction)


def edges_of(story: Turns) -> Iterator[Edge]:
    """All that rests on something in a run.  Pure; the run's texts are read once."""
    contexts = Contexts(story)
    by_turn: defaultdict[int, list[ToolRun]] = defaultdict(list)
    for tool in story.tools:
        by_turn[tool.turn.begin.seq if tool.turn else 0].append(tool)
    for tool in by_turn[0]:
        yield from _tool_edges(story, contexts, tool)
    for turn in story.turns:
        yield from _turn_edges(story, contexts, turn)
        for tool in by_turn[turn.begin.seq]:
            yield from _tool_edges(story, contexts, tool)
    yield from _other_edges(story)


def graph(story: Turns, edges: Iterable[Edge], seq: int, direction: Direction) -> CausalGraph:
    """The part of the graph that an event is in.  Pure."""
    kept = {(edge.cause, edge.effect, edge.why, edge.path): edge for edge in edges if edge.cause < edge.effect}
    distances = {seq: 0}
    chosen: dict[Edge, None] = {}
    truncated = False
    for way in ("back", "forward"):
        if direction in (way, "both"):
            truncated |= _walk(kept.values(), seq, way, distances, chosen)
    has_cause = {edge.effect for edge in chosen}
    return {
        "run": story.run,
        "seq": seq,
        "direction": direction,
        "nodes": [_node(story, story.event(each), distances[each]) for each in sorted(distances)],
        "edges": [_edge(edge) for edge in chosen],
        "roots": sorted(each for each in distances if each not in has_cause),
        "truncated": truncated,
    }


def _walk(
    edges: Iterable[Edge], start: int, way: str, distances: dict[int, int], chosen: dict[Edge, None]
) -> bool:  # fmt: skip
    """Follows edges from the start, nearest first; whether there were more nodes than an answer may have."""
    beside: defaultdict[int, list[Edge]] = defaultdict(list)
    for edge in edges:
        beside[edge.effect if way == "back" else edge.cause].append(edge)
    waiting, seen = deque([(start, 0)]), {start}
    while waiting:
        here, distance = waiting.popleft()
        for edge in beside[here]:
            if not _leads_on(edge, start, way):
                continue
            there = edge.cause if way == "back" else edge.effect
            if there not in distances and len(distances) == _MOST_NODES:
                return True
            distances.setdefault(there, distance + 1)
            chosen[edge] = None
            if there not in seen:
                seen.add(there)
                waiting.append((there, distance + 1))
    return False


def _leads_on(edge: Edge, start: int, way: str) -> bool:
    if edge.why not in _PASSING or start in (edge.cause, edge.effect):
        return True
    return edge.why == "answered" and way == "back"


# --- edges ------------------------------------------------------------------------------------------------------------


def _tool_edges(story: Turns, contexts: Contexts, tool: ToolRun) -> Iterator[Edge]:
    begin, end = tool.begin, tool.end
    definition = story.definitions(tool.turn).get(begin.name)
    found = attribute(story, contexts.index, tool, Asked(begin.name, tool.arguments, contexts.at(tool), definition))
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
    for event in story.events[: seq - 1]:
        if isinstance(event, ev.ApprovalRequested) and event.approval == approval:
            yield Edge(event.seq, seq, "returned")


# --- answers ----------------------------------------------------------------------------------------------------------


def _node(story: Turns, event: ev.RunEvent, distance: int) -> CausalNode:
    return {
        "seq": event.seq,
        "event": event.id,
        "kind": event.original_kind if isinstance(event, ev.UnknownEvent) else event.kind,
        "time": rfc3339(event.time_ns),
        "actor": event.actor,
        "label": _label(story, event),
        "distance": distance,
    }


def _label(story: Turns, event: ev.RunEvent) -> str:
    match event:
        case ev.MessageAdded(role=role, message=ref):
            message = story.message(ref)
            text = f"{role}: {message_text(message) if message else '(not stored)'}"
        case ev.ToolCalled(name=name, arguments=ref):
            text = f"{name}({_json(story, ref)})"
        case ev.ToolCompleted(name=name, result=ref):
            text = f"{name} → {_json(story, ref)}"
        case ev.ToolFailed(name=name, error_type=error, message=why):
            text = f"{name} raised {error}: {why}"
        case ev.LlmCalled(model=model) | ev.LlmCompleted(model=model) | ev.LlmFailed(model=model):
            text = model or "model"
        case ev.StateChanged(key=key, value=ref):
            text = f"{key} = {_json(story, ref)}"
        case ev.AgentHandoff(to=to):
            text = f"to {to}"
        case _:
            text = event.original_kind if isinstance(event, ev.UnknownEvent) else event.kind
    text = " ".join(text.split())
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"


def _json(story: Turns, ref: ContentRef | None) -> str:
    return "" if ref is None else canonical_json(story.shelf.parsed(ref)).decode("utf-8", "replace")


def _edge(edge: Edge) -> CausalEdge:
    return {
        "cause": edge.cause,
        "effect": edge.effect,
        "why": edge.why,
        "path": edge.path,
        "confidence": edge.confidence,
        "quote": edge.quote,
    }
