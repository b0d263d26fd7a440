"""When did each call of a run begin, how long did it take by itself, and for which calls did the run wait?

Method: the end of a call is its start plus its measured duration. The longest path goes backwards from the end of the
run: of the calls that one call made, the last to end is on it, then the last of those that had ended when that one
began, and so on; and the same inside each of them. Pure, except for `answer_waterfall`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from playhead.model import event as ev
from playhead.model.state import CANCELLED
from playhead.wire.operations.waterfall import LongestPath, TimedCall, TimedKind, TimedStatus, Waterfall
from playhead_collector.read.record import RunRecord

_MS = 1e6
# Starts are read from the clock of the machine and durations from a finer one, so that a call may seem to begin a
# little before the one that it followed had ended.
_SAME_MOMENT_MS = 2.0
_AGENT = "agent"

_Begin = ev.LlmCalled | ev.ToolCalled | ev.StepStarted
_End = ev.LlmCompleted | ev.LlmFailed | ev.ToolCompleted | ev.ToolFailed | ev.StepCompleted


async def answer_waterfall(record: RunRecord, *, after: int, limit: int, cursor: int) -> Waterfall:
    """The calls that began or ended after seq `after` or are under way, and have a seq above `cursor`."""
    events = await record.all_events()
    return await asyncio.to_thread(waterfall, record.run, events, after=after, limit=limit, cursor=cursor)


def waterfall(run: str, events: Sequence[ev.RunEvent], *, after: int, limit: int, cursor: int) -> Waterfall:
    """Builds the answer from all events of the run.  Pure."""
    calls = calls_in_time(events)
    mark_longest_path(calls)
    wanted = [call for call in calls if call.seq > cursor and max(call.seq, call.ended_seq or after + 1) > after]
    page = wanted[:limit]
    return {
        "run": run,
        "calls": len(calls),
        "path": _path(calls),
        "items": [_answer(call) for call in page],
        "next_cursor": str(page[-1].seq) if len(wanted) > limit else None,
    }


@dataclass(slots=True, eq=False)
class CallInTime:
    """A call with its times in ms since the run began. `end_ms` of an open call is that of the last event."""

    begin: _Begin
    kind: TimedKind
    name: str
    start_ms: float
    end_ms: float
    parent: "CallInTime | None" = None
    agent: "CallInTime | None" = None
    end: _End | None = None
    turn: int | None = None
    children: "list[CallInTime]" = field(default_factory=list["CallInTime"])
    on_path: bool = False

    @property
    def seq(self) -> int:
        """The seq of the event with which it began."""
        return self.begin.seq

    @property
    def ended_seq(self) -> int | None:
        """The seq of the event with which it ended; None while it is open."""
        return None if self.end is None else self.end.seq

    @property
    def own_ms(self) -> float:
        """Time in which none of the calls that it made was under way."""
        return max(0.0, self.end_ms - self.start_ms - covered_ms(self.children, self.start_ms, self.end_ms))


def calls_in_time(events: Sequence[ev.RunEvent]) -> list[CallInTime]:
    """Returns the calls of a run in the order in which they began.  Pure."""
    if not events:
        return []
    began_ns, last_ms = events[0].time_ns, (events[-1].time_ns - events[0].time_ns) / _MS
    calls: list[CallInTime] = []
    by_span: dict[str, CallInTime] = {}
    last_turn: dict[object, int] = {}
    turns = 0
    for event in events:
        if isinstance(event, ev.LlmCalled | ev.ToolCalled | ev.StepStarted):
            kind, name = _kind_and_name(event)
            call = CallInTime(event, kind, name, (event.time_ns - began_ns) / _MS, last_ms)
            call.parent = None if event.parent is None else by_span.get(event.parent)
            if call.parent is not None:
                call.parent.children.append(call)
                call.agent = call.parent if call.parent.kind == _AGENT else call.parent.agent
            whose = call.agent or event.actor
            if kind == "model":
                turns += 1
                last_turn[whose] = call.turn = turns
            elif kind == "tool":
                call.turn = last_turn.get(whose)
            calls.append(call)
            if event.span is not None:
                by_span[event.span] = call
        elif isinstance(event, _End) and event.span in by_span:
            call = by_span[event.span]
            call.end, call.end_ms = event, call.start_ms + event.elapsed_ms
    return calls


def _kind_and_name(event: _Begin) -> tuple[TimedKind, str]:
    match event:
        case ev.LlmCalled():
            return "model", event.model or "model"
        case ev.ToolCalled():
            return "tool", event.name
        case ev.StepStarted():
            return "agent" if event.step_kind == _AGENT else "step", event.name


def covered_ms(calls: Iterable[CallInTime], start_ms: float, end_ms: float) -> float:
    """How much of the time from `start_ms` to `end_ms` at least one of the calls was under way.  Pure."""
    covered, reached = 0.0, start_ms
    for call in sorted(calls, key=lambda call: call.start_ms):
        begin, end = max(call.start_ms, reached), min(call.end_ms, end_ms)
        if end > begin:
            covered, reached = covered + end - begin, end
    return covered


def mark_longest_path(calls: Sequence[CallInTime]) -> None:
    """Sets `on_path` of the calls for which the run waited."""
    waiting = [[call for call in calls if call.parent is None]]
    while waiting:
        until = None
        for call in sorted(waiting.pop(), key=lambda call: call.end_ms, reverse=True):
            if until is None or call.end_ms <= until + _SAME_MOMENT_MS:
                call.on_path, until = True, call.start_ms
                waiting.append(call.children)


def _path(calls: Sequence[CallInTime]) -> LongestPath:
    spent: defaultdict[str, float] = defaultdict(float)
    agents: dict[str, None] = {}
    for call in calls:
        if call.on_path:
            spent[call.kind] += call.own_ms
            name = call.agent.name if call.agent else call.begin.actor
            if call.kind in ("model", "tool") and name is not None:
                agents[name] = None
    return {
        "elapsed_ms": _rounded(sum(spent.values())),
        "model_ms": _rounded(spent["model"]),
        "tool_ms": _rounded(spent["tool"]),
        "agents": list(agents),
    }


def _rounded(milliseconds: float) -> float:
    return round(milliseconds, 3)


def _answer(call: CallInTime) -> TimedCall:
    status, parent = _status(call), call.parent
    return {
        "seq": call.seq,
        "ended_seq": call.ended_seq,
        "kind": call.kind,
        "name": call.name,
        "parent": parent and parent.seq,
        "agent": call.agent and call.agent.seq,
        "actor": call.begin.actor,
        "turn": call.turn,
        "started_ms": _rounded(call.start_ms),
        "elapsed_ms": None if call.end is None else _rounded(call.end_ms - call.start_ms),
        "own_ms": None if call.end is None else _rounded(call.own_ms),
        "status": status,
        "error": _error_of(call),
        "on_path": call.on_path,
        "lost": status == "completed" and parent is not None and call.kind == _AGENT and _status(parent) == "failed",
    }


def _status(call: CallInTime) -> TimedStatus:
    end = call.end
    if end is None:
        return "open"
    if end.outcome == CANCELLED:
        return "cancelled"
    return "completed" if _error_of(call) is None else "failed"


def _error_of(call: CallInTime) -> str | None:
    end = call.end
    if isinstance(end, ev.LlmFailed | ev.ToolFailed):
        return end.error_type
    return end.error_type if isinstance(end, ev.StepCompleted) else None
