"""[analysis]: which steps of a failed run went wrong?  Ranks them by the findings against them.

Reads the run, the compressions of its context, and succeeded runs of the same task (siblings), and gives them to all
finders. Of a very long run only the end is read: the time of the finders grows with the length of what they are given.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from playhead.model.canonical import text_of
from playhead.model.event import ContextCompressed, RunEvent
from playhead.wire.operations.compression import CompressionAudit
from playhead.wire.operations.suspects import ComparedSiblings, Suspect, Suspects
from playhead_collector.analysis.across.same_task import read_succeeded_runs
from playhead_collector.analysis.compression.compressions import audit_compression
from playhead_collector.analysis.suspects.findings import MAX_FINDINGS, Finding, RunSteps, Step, run_steps
from playhead_collector.analysis.suspects.listings import find_in_listings
from playhead_collector.analysis.suspects.measured import precision_of
from playhead_collector.analysis.suspects.misread import find_misreadings
from playhead_collector.analysis.suspects.offers import find_outcome
from playhead_collector.analysis.suspects.prompt_rules import find_broken_rules
from playhead_collector.analysis.suspects.refusals import find_refusals
from playhead_collector.analysis.suspects.siblings import find_divergence
from playhead_collector.analysis.suspects.text_protocols import text_protocol
from playhead_collector.analysis.suspects.tool_calls import find_calls, find_lost_facts, find_values
from playhead_collector.analysis.transcript.loading import read_transcript_end
from playhead_collector.read.record import RunRecord

# --- ranking, pure ---------------------------------------------------------------------------------------------------

_POINTS = {"strong": 4, "likely": 2, "weak": 1}
FINDERS: Sequence[Callable[[RunSteps], Iterator[Finding]]] = (
    find_values,
    find_misreadings,
    find_in_listings,
    find_refusals,
    find_calls,
    find_broken_rules,
    find_outcome,
)


@dataclass(frozen=True, slots=True)
class RankedStep:
    """A step, its points, and the findings against it, the strongest first."""

    step: Step
    points: int
    findings: Sequence[Finding]


def find_all(
    steps: RunSteps, siblings: Sequence[RunSteps] = (), audits: Sequence[CompressionAudit] = ()
) -> list[Finding]:
    """Returns the findings of all finders, at most 200 of each."""
    findings = [finding for finder in FINDERS for finding in islice(finder(steps), MAX_FINDINGS)]
    findings += islice(find_lost_facts(steps, audits), MAX_FINDINGS)
    return [*findings, *islice(find_divergence(steps, siblings), MAX_FINDINGS)]


def rank(steps: RunSteps, all_findings: Iterable[Finding]) -> list[RankedStep]:
    """Returns the steps with findings: most points first, then the earlier one. A rule counts once per step."""
    of_step: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in all_findings:
        of_step[finding.step].append(finding)
    ranked: list[RankedStep] = []
    for number, findings in of_step.items():
        ordered = sorted(findings, key=lambda finding: -finding.rule.level)
        strongest = {finding.rule.name: finding.rule for finding in reversed(ordered)}
        points = sum(_POINTS[rule.strength] for rule in strongest.values())
        ranked.append(RankedStep(steps.steps[number], points, ordered))
    return sorted(ranked, key=lambda ranked_step: (-ranked_step.points, ranked_step.step.number))


# --- the answer ------------------------------------------------------------------------------------------------------

# The last events of a run that are looked at: more than a thousand turns with a tool call each.
MOST_EVENTS = 8_192
# Compressions that are audited, from the first on: each audit reads thousands of messages.
_MAX_AUDITS = 8
_NO_RULES = "no rule applies to this kind of run: its model asks for actions in its texts ({}), not in tool calls"
_SHOWN_FINDINGS, _SHOWN_CHARACTERS = 20, 400


async def answer_suspects(
    record: RunRecord, *named: RunRecord, limit: int, find: Mapping[str, Any] | None = None
) -> Suspects:
    """Returns the steps of a run that most likely went wrong.

    `named`: succeeded runs of the same task to compare with. Without any, `read_succeeded_runs` looks for them with the
    options `find`; None: no runs are compared.
    """
    transcript = await read_transcript_end(record, MOST_EVENTS)
    siblings, compared = await _siblings(record, named, find)
    others = [await read_transcript_end(sibling, MOST_EVENTS) for sibling in siblings]
    audits = await _audits(record, transcript.events)

    def ranked() -> tuple[RunSteps, str | None, list[RankedStep]]:
        steps = run_steps(transcript)
        form = text_protocol(steps)
        findings = find_all(steps, [run_steps(other) for other in others], audits) if form is None else []
        return steps, form, rank(steps, findings)

    steps, form, ranked_steps = await asyncio.to_thread(ranked)
    looked_at = len(steps.steps)
    before = record.row.llm_calls - looked_at if record.last > MOST_EVENTS else 0
    return {
        "run": transcript.run,
        "steps": before + looked_at,
        "looked_at": looked_at,
        "total": len(ranked_steps),
        "note": None if form is None else _NO_RULES.format(form),
        "siblings": compared,
        "items": [_suspect(number, ranked_step, before) for number, ranked_step in enumerate(ranked_steps[:limit], 1)],
    }


async def _siblings(
    record: RunRecord, named: Sequence[RunRecord], find: Mapping[str, Any] | None
) -> tuple[Sequence[RunRecord], ComparedSiblings]:
    """Returns the runs to compare with, and how they were chosen."""
    if named or find is None:
        runs = [
            candidate
            for candidate in {candidate.run: candidate for candidate in named}.values()
            if candidate.run != record.run
        ]
        chosen = "named" if named else "off"
        return runs, {"chosen": chosen, "runs": _run_ids(runs), "task": None, "outcome": None, "more": False}
    same_task = await read_succeeded_runs(record, **find)
    return same_task.runs, {
        "chosen": "found",
        "runs": _run_ids(same_task.runs),
        "task": same_task.task,
        "outcome": same_task.outcome,
        "more": same_task.more,
    }


def _run_ids(runs: Sequence[RunRecord]) -> list[str]:
    return [run.run for run in runs]


async def _audits(record: RunRecord, events: Sequence[RunEvent]) -> list[CompressionAudit]:
    seqs = [event.seq for event in events if isinstance(event, ContextCompressed)][:_MAX_AUDITS]
    return [await audit_compression(record, str(seq)) for seq in seqs]


def _suspect(number: int, ranked: RankedStep, before: int) -> Suspect:
    """Converts a step to an answer. `before`: the steps of the run before those that were looked at."""
    turn = ranked.step.turn
    stands_at = turn.end or turn.begin
    strongest = ranked.findings[0].rule
    return {
        "rank": number,
        "seq": stands_at.seq,
        "event": stands_at.id,
        "call": turn.begin.seq,
        "turn": before + ranked.step.number + 1,
        "actor": turn.begin.actor,
        "does": _step_text(ranked),
        "points": ranked.points,
        "rule": strongest.name,
        "strength": strongest.strength,
        "findings": [
            {
                "rule": finding.rule.name,
                "strength": finding.rule.strength,
                "reason": finding.reason,
                "quotes": list(finding.quotes),
                "values": list(finding.values),
                "precision": precision_of(finding.rule.name),
            }
            for finding in ranked.findings[:_SHOWN_FINDINGS]
        ],
    }


def _step_text(ranked: RankedStep) -> str:
    """The text of the step's answer and its tool calls, cut to 400 characters."""
    turn = ranked.step.turn
    calls = (f"{request.name}({text_of(request.arguments)[:_SHOWN_CHARACTERS]})" for request in turn.requests)
    text = " ".join("; ".join(filter(None, (turn.answer_text.strip()[: 2 * _SHOWN_CHARACTERS], *calls))).split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
