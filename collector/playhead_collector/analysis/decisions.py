"""[analysis]: where did the agent choose, what did it choose, and what else was open?

| kind | its event |
|---|---|
| tool_selection, answer | the end of a model call that requested tools, or that answered without tools |
| tool_arguments | the start of a tool call that a model requested; not in lists that have its tool_selection |
| handoff, branch, approval | the event that records it |
| stop | the end of the run, for the model call that it ended with |

A decision also has what other model calls chose in exactly the same context. Two model calls, of any runs, had the same
context if their threads have the same ref. Their answers are compared exactly, except for call ids.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations import Page
from playhead.wire.operations.why import Attribution, Decision, DecisionDetail, ElsewhereChoice, Option
from playhead_collector.analysis.provenance.attribution import attributions
from playhead_collector.analysis.provenance.attributions import attribution_answer
from playhead_collector.analysis.provenance.small_values import alternatives
from playhead_collector.analysis.texts.passages import quote
from playhead_collector.analysis.transcript.arguments import ToolDefinition, TracedCall, scalars
from playhead_collector.analysis.transcript.loading import read_transcript, read_transcript_page
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript, Turn
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import ContentCache, fetch

SELECTION, ARGUMENTS, ANSWER, STOP = "tool_selection", "tool_arguments", "answer", "stop"
HANDOFF, BRANCH, APPROVAL = "handoff", "branch", "approval"

# Events of one call; all others (a run's, an agent's, notes) may be part of a decision at any distance.
_OF_CALLS = (
    ev.LlmCalled,
    ev.LlmCompleted,
    ev.LlmFailed,
    ev.MessageAdded,
    ev.ToolCalled,
    ev.ToolCompleted,
    ev.ToolFailed,
)
_CALLS_BESIDE = 64


async def list_decisions(record: RunRecord, limit: int, after: int) -> Page[Decision]:
    """Lists decisions after seq `after`, in order.

    A choice of a tool is listed once, with its arguments, at the model call that made it.
    """
    # Each end of a model call is a decision, so that `limit` ends are enough.
    transcript = await read_transcript_page(record, after, limit, ev.LlmCompleted, with_contexts=False)
    items = await asyncio.to_thread(
        lambda: [
            decision
            for decision, turn in decisions(transcript)
            if decision["seq"] > after and not (decision["kind"] == ARGUMENTS and _has_selection(turn))
        ]
    )
    more = len(items) > limit
    return {"items": items[:limit], "next_cursor": str(items[limit - 1]["seq"]) if more else None}


async def answer_decision(record: RunRecord, at: str) -> DecisionDetail:
    """Returns the decision at this event, or in its call, with context, options and attributions.  Raises Refused."""
    seq = await seq_at(record, at)
    event = await record.event(seq)
    if isinstance(event, _OF_CALLS):
        # Its decision is at one of the next two ends of model calls; if calls run in parallel, at a later one.
        transcript = await read_transcript_page(record, seq - 1, _CALLS_BESIDE, ev.LlmCompleted, with_contexts=True)
    else:
        transcript = await read_transcript(record)
    decision, turn = await asyncio.to_thread(_decision_at, transcript, seq)
    elsewhere = await choices_elsewhere(record, turn.begin) if turn else []
    why = await asyncio.to_thread(_attribution_answers, transcript, decision)
    begin = turn.begin if turn else None
    return {
        **decision,
        "run": transcript.run,
        "context": {
            "call": begin and begin.seq,
            "thread": begin and begin.thread,
            "messages": begin and begin.messages,
            "new": [event.seq for event in turn.new_messages] if turn else [],
        },
        "reasoning": transcript.reasoning(turn) or None,
        "options": options_of(transcript, decision, turn),
        "elsewhere": _elsewhere_answers(elsewhere, turn, transcript),
        "attributions": why,
    }


def decisions(transcript: Transcript) -> Iterator[tuple[Decision, Turn | None]]:
    """Yields all decisions of a run in order, each with its model call (None: it belongs to none).  Pure."""
    turns = {turn.end.seq: turn for turn in transcript.turns if isinstance(turn.end, ev.LlmCompleted)}
    tools = {tool.begin.seq: tool for tool in transcript.tools}
    last: Turn | None = None
    for event in transcript.events:
        if (turn := turns.get(event.seq)) is not None:
            last = turn
            kind = SELECTION if turn.requests else ANSWER
            yield (
                _decision(event, kind, turn, choice_of(transcript, turn), turn.answer_text if turn.requests else None),
                turn,
            )
        elif (tool := tools.get(event.seq)) is not None and tool.request is not None:
            yield (
                _decision(event, ARGUMENTS, tool.turn, _requested_call(tool), tool.request.turn.answer_text),
                tool.turn,
            )
        else:
            declared = _declared_decision(transcript, event, last)
            if declared is not None:
                yield declared, last if declared["call"] is not None else None


def _has_selection(turn: Turn | None) -> bool:
    """Whether the model call has ended, so that it is a decision of its own."""
    return turn is not None and isinstance(turn.end, ev.LlmCompleted)


def _decision(event: ev.RunEvent, kind: str, turn: Turn | None, chosen: Any, reason: str | None) -> Decision:
    return {
        "seq": event.seq,
        "event": event.id,
        "kind": kind,
        "time": rfc3339(event.time_ns),
        "actor": event.actor,
        "call": turn.begin.seq if turn else None,
        "chosen": chosen,
        "reason": reason or None,
    }


def _declared_decision(transcript: Transcript, event: ev.RunEvent, last: Turn | None) -> Decision | None:
    """Returns the decision that an event is by itself (handoff, branch, approval, stop), or None."""
    match event:
        case ev.AgentHandoff(to=to, reason=ref):
            reason = transcript.cache.parsed(ref)
            return _decision(event, HANDOFF, last, {"to": to}, None if reason is None else str(reason))
        case ev.OrchestrationDecision():
            noted = _annotation(transcript, event)
            if "decision" not in noted:
                return None  # a note, or a plan
            return _decision(event, BRANCH, last, noted["decision"], noted.get("reason"))
        case ev.ApprovalGranted(approval=approval, by=by) | ev.ApprovalDenied(approval=approval, by=by):
            chosen = {"approval": approval, "approved": isinstance(event, ev.ApprovalGranted), "by": by}
            reason = transcript.cache.parsed(event.reason)
            return _decision(event, APPROVAL, None, chosen, None if reason is None else str(reason))
        case ev.RunCompleted(outcome=outcome) if last is not None and not last.requests:
            return _decision(event, STOP, last, {"outcome": outcome or "completed"}, None)
        case _:
            return None


def _decision_at(transcript: Transcript, seq: int) -> tuple[Decision, Turn | None]:
    """The decision at this seq, else the first one in the call to which the event belongs.  Raises Refused."""
    event = transcript.event(seq)
    part_of: tuple[Decision, Turn | None] | None = None
    for decision, turn in decisions(transcript):
        if decision["seq"] == seq:
            return decision, turn
        if event.span is not None and transcript.event(decision["seq"]).span == event.span:
            part_of = part_of or (decision, turn)
    if part_of is None:
        raise Refused(
            404, "no_such_decision", f"event {seq} of run {transcript.run} is part of no decision: see its decisions"
        )
    return part_of


def choice_of(transcript: Transcript, turn: Turn) -> Any:
    """Returns the answer of a model call: the requested tools and the text.  Pure."""
    if not turn.outputs and isinstance(turn.end, ev.LlmCompleted) and turn.end.output is not None:
        return {"tools": [], "text": transcript.cache.parsed(turn.end.output)}
    return chosen_in(message for event in turn.outputs if (message := transcript.message(event.message)))


def _requested_call(tool: ToolRun) -> dict[str, Any]:
    return {"name": tool.begin.name, "arguments": tool.arguments}


def _annotation(transcript: Transcript, event: ev.OrchestrationDecision) -> dict[str, Any]:
    noted = transcript.cache.parsed(event.annotation)
    return {str(key): value for key, value in noted.items()} if isinstance(noted, dict) else {}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _attribution_answers(transcript: Transcript, decision: Decision) -> list[Attribution]:
    """Attributions of the tool calls that the decision is about."""
    if decision["kind"] not in (SELECTION, ARGUMENTS):
        return []
    about = [
        tool
        for tool in transcript.tools
        if tool.begin.seq == decision["seq"]
        or (tool.request and tool.request.turn.end and tool.request.turn.end.seq == decision["seq"])
    ]
    return [attribution_answer(transcript, attribution) for attribution in attributions(transcript, about)]


# --- options ---------------------------------------------------------------------------------------------------------


def options_of(transcript: Transcript, decision: Decision, turn: Turn | None) -> list[Option]:
    """Lists the options of a decision, chosen or not.  Pure."""
    thoughts = "\n".join(filter(None, (transcript.reasoning(turn), turn.answer_text if turn else "")))
    match decision["kind"]:
        case "branch":
            return _annotated_options(transcript, decision)
        case "approval":
            approved = bool(decision["chosen"].get("approved"))
            answers = (("approve", approved), ("deny", not approved))
            return [_option(name, None, "approval", chosen, "") for name, chosen in answers]
        case "tool_arguments":
            tool = next(tool for tool in transcript.tools if tool.begin.seq == decision["seq"])
            return [*_enum_options(transcript, tool), *_same_response_options(tool, thoughts)]
        case "handoff":
            return []
        case _:
            chosen = {request.name for request in turn.requests} if turn else set[str]()
            offered = transcript.definitions(turn)
            unlisted = [ToolDefinition(name, "", {}, {}) for name in chosen if name not in offered]
            return [
                _option(
                    definition.name,
                    definition.description or None,
                    "tool_definition",
                    definition.name in chosen,
                    thoughts,
                )
                for definition in (*offered.values(), *unlisted)
            ]


def _annotated_options(transcript: Transcript, decision: Decision) -> list[Option]:
    event = transcript.event(decision["seq"])
    noted = _annotation(transcript, event) if isinstance(event, ev.OrchestrationDecision) else {}
    others: Any = noted.get("alternatives")
    named = [str(other) for other in others] if isinstance(others, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    chosen = str(noted.get("decision"))
    return [_option(name, None, "annotation", name == chosen, "") for name in dict.fromkeys((chosen, *named))]


def _enum_options(transcript: Transcript, tool: ToolRun) -> Iterator[Option]:
    """Yields the values that the tool's definition lists for each argument."""
    definition = transcript.definitions(tool.turn).get(tool.begin.name)
    traced = TracedCall(tool.begin.name, tool.arguments, {}, definition)
    for path, value in scalars(tool.arguments):
        for other in alternatives(traced, path):
            yield _option(f"{path} = {other}", None, "enum", other == value, "")


def _same_response_options(tool: ToolRun, thoughts: str) -> Iterator[Option]:
    """Yields the other tool calls that the same response requested."""
    for request in tool.request.turn.requests if tool.request else ():
        if request is not tool.request:
            call = f"{request.name}({canonical_json(request.arguments).decode('utf-8', 'replace')})"
            yield _option(call, None, "same_response", True, thoughts)


def _option(name: str, description: str | None, origin: str, chosen: bool, thoughts: str) -> Option:
    place = thoughts.find(name) if name else -1
    considered = quote(thoughts, place, place + len(name)) if place >= 0 else None
    return {
        "name": name, "description": description, "origin": origin, "chosen": chosen, "considered": considered
    }  # fmt: skip


# --- the same context elsewhere --------------------------------------------------------------------------------------

# Other calls that are compared. Runs that share a context are trials of one task, or forks: more calls add little.
_MAX_SIBLINGS = 100
_EVENTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Sibling:
    """A model call with the same context, and the messages that it answered with."""

    run: str
    seq: int
    ended_seq: int | None
    outputs: Sequence[ContentRef]


@dataclass(slots=True)
class Choice:
    """An answer, and the calls that gave it."""

    chosen: Any
    calls: list[Sibling] = field(default_factory=list[Sibling])


async def choices_elsewhere(record: RunRecord, begin: ev.LlmCalled) -> list[Choice]:
    """Returns the different answers of other calls with the context of this call, the most frequent first."""
    if begin.thread is None:
        return []
    calls = await record.store.uses.calls_with_thread(record.project_id, begin.thread, limit=_MAX_SIBLINGS + 1)
    siblings = [
        sibling
        for run, seq in calls
        if (run, seq) != (begin.run, begin.seq) and (sibling := await read_sibling(record, run, seq, begin.thread))
    ][:_MAX_SIBLINGS]
    cache = await fetch(record.store, record.project_id, (ref for sibling in siblings for ref in sibling.outputs))
    return grouped(siblings, cache)


def grouped(siblings: Iterable[Sibling], cache: ContentCache) -> list[Choice]:
    """Groups calls by their answer, the most frequent first.  Pure."""
    choices: dict[bytes, Choice] = {}
    for sibling in siblings:
        chosen = chosen_in(message for ref in sibling.outputs if (message := cache.parsed_message(ref)))
        choices.setdefault(canonical_json(chosen), Choice(chosen)).calls.append(sibling)
    return sorted(choices.values(), key=lambda choice: -len(choice.calls))


def chosen_in(messages: Iterable[Message]) -> dict[str, Any]:
    """Returns the answer in messages: the requested tools and the text, without ids, which differ from call to call."""
    calls: list[dict[str, Any]] = []
    texts: list[str] = []
    for part in (part for message in messages for part in message["parts"]):
        if part.get("type") == "tool_call":
            calls.append({"name": part.get("name"), "arguments": part.get("arguments")})
        elif part.get("type") == "text" and part.get("content"):
            texts.append(str(part["content"]))
    return {"tools": calls, "text": "\n".join(texts) or None}


async def read_sibling(record: RunRecord, run: str, seq: int, thread: ContentRef) -> Sibling | None:
    """Reads the call at this seq with its answer; None if its thread differs or it has not ended."""
    after = seq - 1
    begin: ev.LlmCalled | None = None
    outputs: list[ContentRef] = []
    ended: int | None = None
    while events := await record.store.events.read(record.project_id, run, after=after, limit=_EVENTS_AT_ONCE):
        for event in events:
            if begin is None:
                if not isinstance(event, ev.LlmCalled) or event.thread != thread:
                    return None
                begin = event
            elif event.span == begin.span:
                outputs += _output_ref(event)
                ended = event.seq if isinstance(event, ev.LlmCompleted | ev.LlmFailed) else ended
            elif ended is not None:
                return Sibling(run, seq, ended, outputs)
        after = events[-1].seq
    return Sibling(run, seq, ended, outputs) if begin is not None and ended is not None else None


def _output_ref(event: ev.RunEvent) -> Iterator[ContentRef]:
    if isinstance(event, ev.MessageAdded) and event.source == "output" and event.message is not None:
        yield event.message


def _elsewhere_answers(choices: list[Choice], turn: Turn | None, transcript: Transcript) -> list[ElsewhereChoice]:
    here = canonical_json(choice_of(transcript, turn)) if turn else b""
    return [
        {
            "chosen": choice.chosen,
            "same": canonical_json(choice.chosen) == here,
            "calls": [{"run": call.run, "seq": call.seq, "ended_seq": call.ended_seq} for call in choice.calls],
        }
        for choice in choices
    ]
