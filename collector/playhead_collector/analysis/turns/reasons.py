"""[analysis]: why a turn did what it did, where the values of its calls are from, and what rested on it later."""

import asyncio
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from playhead.model import event as ev
from playhead.wire.operations.turns import TurnChoice, TurnEffect, TurnThought
from playhead.wire.operations.why import Attribution
from playhead_collector.analysis.causes import RECORDED, Causes, Edge
from playhead_collector.analysis.decisions import decisions, options_of
from playhead_collector.analysis.provenance.attribution import attributions
from playhead_collector.analysis.provenance.attributions import attribution_answer
from playhead_collector.analysis.provenance.contexts import Contexts
from playhead_collector.analysis.reasoning.inferred import infer_reasoning
from playhead_collector.analysis.transcript.loading import read_transcript_page
from playhead_collector.analysis.transcript.shown_calls import call_line, shown_arguments
from playhead_collector.analysis.transcript.transcript import Transcript, Turn
from playhead_collector.read.events import cut
from playhead_collector.read.record import RunRecord

# Later model calls that are examined for what rested on the turn.
_CALLS_AFTER = 64
_MAX_EFFECTS, _MAX_TEXT = 20, 300
_STRONGEST_FIRST = {"strong": 0, "likely": 1, "weak": 2}


@dataclass(slots=True)
class TurnReasons:
    """Why a turn did what it did. `attributions`: of its tool calls, by the seq of their start."""

    choice: TurnChoice | None = None
    thought: TurnThought | None = None
    attributions: dict[int, Attribution] = field(default_factory=dict[int, Attribution])
    then: list[TurnEffect] = field(default_factory=list[TurnEffect])


async def read_reasons(record: RunRecord, seq: int, number: int) -> TurnReasons:
    """Returns the reasons of the turn whose model call began at `seq`, turn `number`."""
    transcript = await read_transcript_page(record, seq - 1, _CALLS_AFTER, ev.LlmCompleted, with_contexts=True)
    return await asyncio.to_thread(turn_reasons, transcript, seq, number)


def turn_reasons(transcript: Transcript, seq: int, number: int) -> TurnReasons:
    """Finds the reasons in a transcript, which has the turn.  Pure."""
    turn = next((turn for turn in transcript.turns if turn.begin.seq == seq), None)
    if turn is None:
        return TurnReasons()
    tools = [tool for tool in transcript.tools if tool.request is not None and tool.turn is turn]
    contexts = Contexts(transcript)  # indexing a long one takes most of the time: it is done once
    found = [attribution_answer(transcript, attribution) for attribution in attributions(transcript, tools, contexts)]
    inferred = infer_reasoning(transcript, turn)
    first = found[0] if found else None
    triggers = inferred["trigger_quotes"]
    decided = next(
        (
            decision
            for decision, of in decisions(transcript)
            if of is turn and turn.end and decision["seq"] == turn.end.seq
        ),
        None,
    )
    choice: TurnChoice = {
        "trigger": inferred["trigger"],
        "trigger_text": cut(" ".join(triggers[-1]["text"].split()), _MAX_TEXT) if triggers else None,
        "kind": first["kind"] if first is not None else None,
        "reason": first["reason"] if first is not None else inferred["summary"],
        "strength": first["strength"] if first is not None else inferred["strength"],
        "rule": first["rule"] if first is not None else inferred["rule"],
        "options": [] if decided is None else options_of(transcript, decided, turn),
    }
    thought: TurnThought = {
        "basis": "inferred", "text": inferred["summary"], "strength": inferred["strength"], "rule": inferred["rule"]
    }  # fmt: skip
    by_seq = {attribution["seq"]: attribution for attribution in found}
    return TurnReasons(choice, thought, by_seq, list(_effects(transcript, contexts, turn, number)))


# --- what followed ---------------------------------------------------------------------------------------------------


def _effects(transcript: Transcript, contexts: Contexts, turn: Turn, number: int) -> Iterator[TurnEffect]:
    """Yields what rested on the turn, one for each later event, in order."""
    own = _events_of(transcript, turn)
    first_of = number - transcript.turns.index(turn)
    strongest: dict[int, Edge] = {}
    edges = [edge for edge in Causes(transcript, contexts).effects_of(turn.begin.seq) if _leads_out(edge, own)]
    for edge in sorted(edges, key=lambda edge: _STRONGEST_FIRST[edge.rule.strength]):
        strongest.setdefault(edge.effect, edge)
    for effect in sorted(strongest)[:_MAX_EFFECTS]:
        edge, event = strongest[effect], transcript.event(effect)
        later = _turn_of(transcript, event)
        yield {
            "seq": effect,
            "turn": None if later is None else first_of + transcript.turns.index(later),
            "text": _in_words(transcript, event, later),
            "why": edge.why if edge.path is None else f"{edge.why} {edge.path}",
            "strength": edge.rule.strength,
            "rule": edge.rule.name,
        }


def _events_of(transcript: Transcript, turn: Turn) -> set[int]:
    seqs = {turn.begin.seq, *(event.seq for event in turn.outputs)}
    seqs |= {turn.end.seq} if turn.end is not None else set()
    for tool in transcript.tools:
        if tool.request is not None and tool.turn is turn:
            seqs |= {
                tool.begin.seq,
                *([tool.end.seq] if tool.end else []),
                *([tool.result_seq] if tool.result_seq else []),
            }
    return seqs


def _leads_out(edge: Edge, own: Collection[int]) -> bool:
    """Whether something else rests on the turn; that the next call read a result says nothing."""
    return edge.cause in own and edge.effect not in own and (edge.rule is not RECORDED or edge.why == "said")


def _turn_of(transcript: Transcript, event: ev.RunEvent) -> Turn | None:
    """The turn that an event of a call belongs to; None for other events."""
    for turn in transcript.turns:
        if event.span is not None and event.span == turn.begin.span:
            return turn
    return next(
        (tool.turn for tool in transcript.tools if event.span is not None and tool.begin.span == event.span), None
    )


def _in_words(transcript: Transcript, event: ev.RunEvent, turn: Turn | None) -> str:
    match event:
        case ev.ToolCalled(name=name):
            tool = next((tool for tool in transcript.tools if tool.begin is event), None)
            definition = transcript.definitions(turn).get(name)
            return call_line(name, "" if tool is None else shown_arguments(tool.arguments, definition))
        case ev.LlmCompleted() if turn is not None:
            calls = _lines(transcript, turn)
            return cut(" ".join(turn.answer_text.split()) or "; ".join(calls), _MAX_TEXT)
        case ev.StateChanged(key=key):
            return f"state {key}"
        case ev.AgentHandoff(to=to):
            return f"handed over to {to}"
        case ev.RunCompleted():
            return "the run ended"
        case ev.RunFailed(error_type=error_type):
            return f"the run failed: {error_type}"
        case _:
            return event.kind.replace("_", " ")


def _lines(transcript: Transcript, turn: Turn) -> Iterable[str]:
    definitions = transcript.definitions(turn)
    for request in turn.requests:
        yield call_line(request.name, shown_arguments(request.arguments, definitions.get(request.name)))
