"""Answers: why tools were called, for one tool call or for all of a run."""

import asyncio
from collections.abc import Sequence

from playhead.model.event import (
    LlmCalled,
    LlmCompleted,
    LlmFailed,
    MessageAdded,
    RunEvent,
    StepCompleted,
    StepStarted,
    ToolCalled,
)
from playhead.wire.operations import Page
from playhead.wire.operations.why import Attribution, ContextQuote, ValueOrigin
from playhead.wire.operations.why import Evidence as EvidenceAnswer
from playhead_collector.analysis.provenance.attribution import (
    AttributionEvidence,
    ToolAttribution,
    attributions,
    entered_at,
)
from playhead_collector.analysis.provenance.value_search import INVENTED, Origin
from playhead_collector.analysis.texts.passages import Hit
from playhead_collector.analysis.transcript.loading import read_transcript_page
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at

_OF_OTHER_CALLS = (LlmCalled, LlmCompleted, LlmFailed, MessageAdded, StepStarted, StepCompleted)


async def list_attributions(record: RunRecord, limit: int, after: int) -> Page[Attribution]:
    """Lists attributions of the tool calls that began after seq `after`."""
    transcript = await read_transcript_page(record, after, limit, ToolCalled, with_contexts=True)
    tools = [tool for tool in transcript.tools if tool.begin.seq > after]
    items = await asyncio.to_thread(_answers, transcript, tools[:limit])
    return {"items": items, "next_cursor": str(items[-1]["seq"]) if len(tools) > limit else None}


async def answer_attribution(record: RunRecord, at: str) -> Attribution:
    """Returns the attribution of the tool call that the event is part of. Raises Refused."""
    seq = await seq_at(record, at)
    event = await record.event(seq)
    called = await _call_of(record, event)
    transcript = (
        await read_transcript_page(record, called.seq - 1, 0, ToolCalled, with_contexts=True) if called else None
    )
    tool = (
        next((tool_run for tool_run in transcript.tools if called and tool_run.begin.seq == called.seq), None)
        if transcript
        else None
    )
    if transcript is None or tool is None:
        raise Refused(
            404, "no_such_tool_call", f"event {seq} of run {record.run} is part of no tool call: see its tool-calls"
        )
    (answer,) = await asyncio.to_thread(_answers, transcript, [tool])
    return answer


async def _call_of(record: RunRecord, event: RunEvent) -> ToolCalled | None:
    """The start event of the tool call that the event is part of, or None."""
    if event.span is None or isinstance(event, _OF_OTHER_CALLS):
        return None
    async for block in record.around(event.seq):
        for other in block:
            if isinstance(other, ToolCalled) and other.span == event.span:
                return other
    return None


def attribution_answer(transcript: Transcript, attribution: ToolAttribution) -> Attribution:
    """Converts an attribution to an answer."""
    begin: ToolCalled = attribution.tool.begin
    turn = attribution.tool.turn if attribution.tool.request else None
    values = [value_answer(transcript, origin, begin.seq) for origin in attribution.origins]
    return {
        "run": transcript.run,
        "seq": begin.seq,
        "event": begin.id,
        "name": begin.name,
        "call_id": begin.call_id or (attribution.tool.request and attribution.tool.request.call_id),
        "actor": begin.actor,
        "decided_at": turn.end.seq if turn and turn.end else None,
        "arguments": attribution.tool.arguments,
        "kind": attribution.kind,
        "strength": attribution.rule.strength,
        "rule": attribution.rule.name,
        "reason": attribution.reason,
        "evidence": [evidence_answer(evidence) for evidence in attribution.evidence],
        "values": values,
        "suspects": [value["path"] for value in values if value["suspect"]],
    }


def value_answer(transcript: Transcript, origin: Origin, upto: int) -> ValueOrigin:
    """Converts the origin of a value to an answer. `upto`: seq of the tool call."""
    another = origin.subject_mismatch
    return {
        "path": origin.path,
        "value": origin.value,
        "source": origin.source,
        "how": origin.how,
        "strength": origin.rule.strength,
        "rule": origin.rule.name,
        "note": origin.note,
        "suspect": is_suspect(origin),
        "evidence": [context_quote(transcript, hit, upto) for hit in origin.evidence],
        "first": origin.first and context_quote(transcript, origin.first, upto),
        "last": origin.last and context_quote(transcript, origin.last, upto, last=True),
        "unfounded": list(origin.unfounded),
        "literals": [{"text": literal.text, "source": literal.source} for literal in origin.literals],
        "another_subject": another and {"path": another.path, "value": another.value, "others": list(another.others)},
    }


def is_suspect(origin: Origin) -> bool:
    """Whether the value occurs nowhere or only in the tool's definition, has facts that occur nowhere, or belongs to
    another subject than the call.
    """
    return origin.source in (INVENTED, "definition") or bool(origin.unfounded) or origin.subject_mismatch is not None


def context_quote(transcript: Transcript, hit: Hit, upto: int, *, last: bool = False) -> ContextQuote:
    """Converts an occurrence in the context to an answer."""
    passage = hit.passage
    return {
        "seq": entered_at(transcript, passage.content, upto, last=last),
        "content": passage.content or None,
        "source": passage.source,
        "part": passage.part,
        "offset": hit.start,
        "length": hit.end - hit.start,
        "quote": hit.quote,
    }


def evidence_answer(evidence: AttributionEvidence) -> EvidenceAnswer:
    """Converts evidence to an answer."""
    return {
        "what": evidence.what,
        "seq": evidence.seq,
        "content": evidence.content,
        "part": evidence.part,
        "offset": evidence.offset,
        "length": evidence.length,
        "quote": evidence.quote,
    }


def _answers(transcript: Transcript, tools: Sequence[ToolRun]) -> list[Attribution]:
    return [attribution_answer(transcript, attribution) for attribution in attributions(transcript, tools)]
