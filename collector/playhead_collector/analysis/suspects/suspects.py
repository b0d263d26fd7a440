"""Suspects as answers: reads the run, its compressions and its siblings, and ranks what is found."""

import asyncio
from collections.abc import Sequence

from playhead.model.event import ContextCompressed, RunEvent
from playhead.wire.answers.analysis.compression import CompressionAudit
from playhead.wire.answers.analysis.suspects import Suspect, Suspects
from playhead_collector.analysis.compression.compressions import audit_compression
from playhead_collector.analysis.suspects.findings import RunSteps, run_steps
from playhead_collector.analysis.suspects.ranking import RankedStep, find_all, rank
from playhead_collector.analysis.transcript.loading import read_transcript
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import text_of

# Each audit reads thousands of messages: of a run that compresses all the time, the first ones.
_MAX_AUDITS = 8
_MAX_FINDINGS, _MAX_LENGTH = 20, 400


async def answer_suspects(record: RunRecord, *siblings: RunRecord, limit: int) -> Suspects:
    """The steps of a run that most likely went wrong; siblings are runs of the same task that succeeded."""
    transcript = await read_transcript(record)
    others = [
        await read_transcript(sibling)
        for sibling in {each.run: each for each in siblings}.values()
        if sibling.run != record.run
    ]
    audits = await _audits(record, transcript.events)

    def ranked() -> tuple[RunSteps, list[RankedStep]]:
        steps = run_steps(transcript)
        return steps, rank(steps, find_all(steps, [run_steps(other) for other in others], audits))

    steps, found = await asyncio.to_thread(ranked)
    return {
        "run": transcript.run,
        "steps": len(steps.steps),
        "total": len(found),
        "siblings": [other.run for other in others],
        "items": [_suspect(number, each) for number, each in enumerate(found[:limit], 1)],
    }


async def _audits(record: RunRecord, events: Sequence[RunEvent]) -> list[CompressionAudit]:
    seqs = [event.seq for event in events if isinstance(event, ContextCompressed)][:_MAX_AUDITS]
    return [await audit_compression(record, str(seq)) for seq in seqs]


def _suspect(number: int, ranked: RankedStep) -> Suspect:
    turn = ranked.step.turn
    stands_at = turn.end or turn.begin
    strongest = ranked.findings[0].rule
    return {
        "rank": number,
        "seq": stands_at.seq,
        "event": stands_at.id,
        "call": turn.begin.seq,
        "turn": ranked.step.number + 1,
        "actor": turn.begin.actor,
        "does": _does(ranked),
        "points": ranked.points,
        "rule": strongest.name,
        "strength": strongest.strength,
        "findings": [
            {
                "rule": finding.rule.name,
                "strength": finding.rule.strength,
                "reason": finding.reason,
                "quotes": list(finding.quotes),
            }
            for finding in ranked.findings[:_MAX_FINDINGS]
        ],
    }


def _does(ranked: RankedStep) -> str:
    """What the step said, and which tools it called, cut."""
    turn = ranked.step.turn
    calls = (f"{request.name}({text_of(request.arguments)[:_MAX_LENGTH]})" for request in turn.requests)
    text = " ".join("; ".join(filter(None, (turn.answer_text.strip()[: 2 * _MAX_LENGTH], *calls))).split())
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"
