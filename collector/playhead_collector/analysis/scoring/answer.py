"""[analysis]: the answer of a worker process about a run that is scored."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, TypedDict

from playhead_collector.analysis.scoring.reading import read_scored_run
from playhead_collector.analysis.scoring.rules import CheckedRun, FoundSuspect, NotKnown, read_rule
from playhead_collector.analysis.suspects.suspects import answer_suspects
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunRecord

_MOST_SUSPECTS: Final = 50


class ScoredRunAnswer(TypedDict):
    """The number of events that were read, and what is asked for: the score by the rule, or else the run as JSON."""

    events: int
    run: dict[str, Any] | None
    score: dict[str, Any] | None


async def answer_scored_run(record: RunRecord, *, rule: Mapping[str, Any] | None) -> ScoredRunAnswer:
    """Returns the run for a function or a judge (`rule` None), or its score by a rule. Raises BadRule, and
    Refused if the rule is about something that is not stored."""
    run = await read_scored_run(record)
    if rule is None:
        return {"events": record.last, "run": asdict(run), "score": None}
    read = read_rule(rule)
    suspects = await _suspects(record) if read.needs_suspects else []
    # In a thread: a pattern of the rule may take long, and then holds the interpreter until the process is ended.
    try:
        score = await asyncio.to_thread(read.score, CheckedRun(run, suspects))
    except NotKnown as error:
        raise Refused(409, "not_known", str(error)) from error
    return {"events": record.last, "run": None, "score": asdict(score)}


async def _suspects(record: RunRecord) -> list[FoundSuspect]:
    answer = await answer_suspects(record, limit=_MOST_SUSPECTS)
    return [
        FoundSuspect(tuple(finding["rule"] for finding in item["findings"]), item["strength"])
        for item in answer["items"]
    ]
