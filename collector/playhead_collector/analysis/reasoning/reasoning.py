"""Answers with the reasoning of a model call: captured, written in a form by the model, inferred, and explained."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, cast

from playhead.model.canonical import text_of
from playhead.model.event import LlmCompleted
from playhead.wire.operations import Quoted, ReasonedOption, Reasoning, StructuredReasoning
from playhead_collector.analysis.reasoning import TAG
from playhead_collector.analysis.reasoning.chosen_option import chosen_option
from playhead_collector.analysis.reasoning.explanation import brief_of, known_explanation
from playhead_collector.analysis.reasoning.inferred import infer_reasoning
from playhead_collector.analysis.reasoning.written_down import StructuredText, TextRange, parse_block, read_structured
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.texts.passages import ASSISTANT, Passage, passages_of
from playhead_collector.analysis.transcript.loading import read_transcript
from playhead_collector.analysis.transcript.transcript import Transcript, Turn
from playhead_collector.errors import Refused
from playhead_collector.read.calls import llm_call
from playhead_collector.read.owning_call import model_call_at
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at

ANSWER, THINKING = "answer", "thinking"


async def answer_reasoning(record: RunRecord, at: str, tag: str = TAG, model: str | None = None) -> Reasoning:
    """Returns the reasoning of the model call that the event belongs to.

    `model`: the model whose stored explanation is included; None: that of any model. Raises Refused.
    """
    call = await model_call_at(record, await seq_at(record, at))
    transcript = await read_transcript(record)
    turn = next((turn for turn in transcript.turns if turn.begin.seq == call.begin.seq), None)
    if turn is None:
        raise Refused(404, "no_such_call", f"run {record.run} has no model call at event {at}: ask for another one")
    ref = call.end.reasoning if isinstance(call.end, LlmCompleted) else None
    inferred = await asyncio.to_thread(infer_reasoning, transcript, turn)
    brief = await asyncio.to_thread(brief_of, transcript, turn, record.last)
    return {
        "run": record.run,
        "call": llm_call(call),
        "ref": ref,
        "captured": transcript.cache.value(ref),
        "structured": list(written_down(transcript, turn, tag)),
        "inferred": inferred,
        "explanation": await known_explanation(record, brief, model),
    }


def written_down(transcript: Transcript, turn: Turn, tag: str) -> Iterator[StructuredReasoning]:
    """Yields reasoning that the model wrote in a form, in its answers and in its captured thinking.  Pure."""
    for event in turn.outputs:
        message = transcript.message(event.message)
        for passage in passages_of(event.message, message) if message and event.message else ():
            if passage.source == ASSISTANT:
                for block in read_structured(passage.text, tag):
                    yield _answer(passage, event.seq, block, ANSWER, tag)
    ref = turn.end.reasoning if isinstance(turn.end, LlmCompleted) else None
    text = thinking_text(transcript.cache.parsed(ref))
    if ref is not None and turn.end is not None and text:
        text = readable(text, ref)
        passage = Passage(ref, 0, ASSISTANT, text)
        for block in read_structured(text, tag) or [parse_block(text)]:
            if block.is_structured:
                yield _answer(passage, turn.end.seq, block, THINKING, tag)


def thinking_text(value: Any) -> str:
    """Captured thinking as a text. Providers give a text, or objects and lists with texts."""
    if isinstance(value, dict | list):
        return "\n".join(_texts(value)) or text_of(cast(object, value))
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _texts(item)
    elif isinstance(value, dict):
        inner = cast(dict[str, Any], value)
        for key in ("content", "thinking", "text", "summary"):
            yield from _texts(inner.get(key))


def _answer(passage: Passage, seq: int, block: StructuredText, source: str, tag: str) -> StructuredReasoning:
    def quote(piece: TextRange) -> Quoted:
        start, end = piece.start, piece.end
        text = passage.text[start:end]
        return {"seq": seq, "ref": passage.content, "part": passage.part, "start": start, "end": end, "text": text}

    def quotes(pieces: Sequence[TextRange]) -> list[Quoted]:
        return [quote(piece) for piece in pieces]

    options: list[ReasonedOption] = [
        {
            "name": quote(option.name),
            "about": quotes(option.about),
            "pros": quotes(option.pros),
            "cons": quotes(option.cons),
        }
        for option in block.options
    ]
    choice = chosen_option(passage.text, block)
    return {
        "source": source,
        "tag": tag,
        "whole": quote(TextRange(block.start, block.end)),
        "goal": quotes(block.goal),
        "observation": quotes(block.observation),
        "options": options,
        "decision": quotes(block.decision),
        "selected_option": None if choice.selected is None else quote(choice.selected),
        "rationale": quotes(choice.rationale),
        "rejected_because": [{"option": quote(name), "because": quotes(why)} for name, why in choice.rejected],
        "rest": quotes(block.rest),
    }
