"""What does an event rest on, back to the user's words, and what rested on it later?

`edges` finds the edges; this module follows them and builds the answer.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Literal

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.message import message_text
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.why import CausalEdge, CausalGraph, CausalNode
from playhead_collector.analysis.causes.edges import MAX_LATER, Causes, Edge
from playhead_collector.analysis.transcript.loading import read_transcript_page, refs_in_events
from playhead_collector.analysis.transcript.transcript import Transcript
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import fetch

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
    nodes = [_node(beyond, event, walk.distances[event.seq]) for event in events]
    nodes += [
        _node(transcript, transcript.event(node_seq), walk.distances[node_seq])
        for node_seq in sorted(walk.distances)[len(before) :]
    ]
    has_cause = {edge.effect for edge in walk.chosen}
    goes_on = direction != "back" and transcript.events[-1].seq < record.last
    return {
        "run": transcript.run,
        "seq": seq,
        "direction": direction,
        "nodes": nodes,
        "edges": [_edge(edge) for edge in walk.chosen],
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


def _node(transcript: Transcript, event: ev.RunEvent, distance: int) -> CausalNode:
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
            text = f"{role}: {message_text(message) if message else '(not stored)'}"
        case ev.ToolCalled(name=name, arguments=ref):
            text = f"{name}({_json(transcript, ref)})"
        case ev.ToolCompleted(name=name, result=ref):
            text = f"{name} → {_json(transcript, ref)}"
        case ev.ToolFailed(name=name, error_type=error, message=why):
            text = f"{name} raised {error}: {why}"
        case ev.LlmCalled(model=model) | ev.LlmCompleted(model=model) | ev.LlmFailed(model=model):
            text = model or "model"
        case ev.StateChanged(key=key, value=ref):
            text = f"{key} = {_json(transcript, ref)}"
        case ev.AgentHandoff(to=to):
            text = f"to {to}"
        case _:
            text = event.original_kind if isinstance(event, ev.UnknownEvent) else event.kind
    text = " ".join(text.split())
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"


def _json(transcript: Transcript, ref: ContentRef | None) -> str:
    return "" if ref is None else canonical_json(transcript.cache.parsed(ref)).decode("utf-8", "replace")


def _edge(edge: Edge) -> CausalEdge:
    return {
        "cause": edge.cause,
        "effect": edge.effect,
        "why": edge.why,
        "path": edge.path,
        "strength": edge.rule.strength,
        "rule": edge.rule.name,
        "quote": edge.quote,
    }
