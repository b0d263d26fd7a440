"""What came of runs, what happened in them, and totals over many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from playhead.model.canonical import text_of
from playhead.model.message import message_text
from playhead.model.ref import ContentRef
from playhead.model.shares import wilson
from playhead.model.times import rfc3339
from playhead.projection.happened import LastMoment, MomentsSoFar, one_line
from playhead.projection.run_row import RunRow
from playhead.wire.operations.across import SuccessRate
from playhead.wire.operations.runs import Happened, HappenedKind, OutcomeCount, RunsOverview, StartedRuns
from playhead.wire.operations.verdict import OutcomeOfRun, OutcomeWord
from playhead.wire.operations.why import OutcomeScore
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.outcomes import (
    CONDITION,
    SUCCESS_FROM,
    OverviewCell,
    has_gone_wrong,
    outcome_of_row,
)
from playhead_collector.store.ports.runs import OpenQuestion, RunFilter
from playhead_collector.store.ports.scores import StoredScore

_MAX_SCORES = 20


def outcome_answer(row: RunRow) -> OutcomeOfRun:
    """Returns what came of a run, and what that rests on."""
    word, facts = outcome_of_row(row), row.facts
    if word in ("succeeded", "failed") and facts.score_name is not None:
        return {"word": word, "because": f"{facts.score_name}>={SUCCESS_FROM}", "value": facts.score}
    return {"word": word, "because": row.status, "value": None}


def scored_answer(scores: Iterable[StoredScore]) -> list[OutcomeScore]:
    """Returns the scores of a run as a whole. `scores`: the latest of each name, newest first."""
    shown = list(scores)[:_MAX_SCORES]
    return [{"name": score.name, "value": score.value, "label": score.label} for score in shown]


# --- what happened ---------------------------------------------------------------------------------------------------


async def read_happened(store: ReadStore, project_id: int, rows: Sequence[RunRow]) -> Mapping[str, Happened | None]:
    """Returns in one line what happened in each run. Reads the questions of runs that wait, and the texts of
    answers."""
    waiting = [row.run for row in rows if outcome_of_row(row) == "waiting"]
    questions: Mapping[str, OpenQuestion] = {}
    if waiting:
        questions = await store.runs.questions(project_id, waiting)
    unread = [ref for row in rows if (ref := _unread(row, questions)) is not None]
    cache = await fetch(store, project_id, unread) if unread else ContentCache({})
    return {row.run: happened_answer(row, questions.get(row.run), cache) for row in rows}


def _unread(row: RunRow, questions: Mapping[str, OpenQuestion]) -> ContentRef | None:
    """Returns the content with the text of what happened in a run; None if it is not needed."""
    moment = row.happened
    if moment is None or moment.ref is None or row.run in questions:
        return None
    return None if _suspected(row) else ContentRef(moment.ref)


def happened_answer(row: RunRow, question: OpenQuestion | None, cache: ContentCache) -> Happened | None:
    """Returns in one line what happened in a run. `question`: what it waits for. `cache` has the text of its
    answer."""
    moment, suspect = row.happened, row.facts.suspect
    if question is not None:
        is_recorded = moment is not None and moment.promise == question.promise
        seq, turn = (moment.seq, moment.turn) if is_recorded and moment is not None else (None, None)
        return _happened("question", question.text, question.about, seq, turn, question.promise)
    if suspect is not None and _suspected(row):
        happened = _happened("suspect", one_line(suspect.reason), None, suspect.seq, suspect.turn)
        return {**happened, "strength": suspect.strength}
    if moment is None:
        return None
    text = moment.text if moment.text is not None else moment_text(moment, cache)
    kind = "under_way" if moment.kind == "question" and not row.facts.waiting else moment.kind
    return _happened(kind, text or "", moment.about, moment.seq, moment.turn, moment.promise)


def _suspected(row: RunRow) -> bool:
    """Whether the first suspect says what happened: the run has failed, and no error says more."""
    return row.facts.suspect is not None and outcome_of_row(row) == "failed"


def moment_text(moment: LastMoment, cache: ContentCache) -> str | None:
    """Returns the text of a moment that has it in a content, in one line; None if it is not stored or has no text."""
    ref = None if moment.ref is None else ContentRef(moment.ref)
    message = cache.parsed_message(ref)
    if message is not None:
        return one_line(message_text(message)) or None
    value = cache.parsed(ref)
    return None if value is None else one_line(text_of(value))


async def read_moment(record: RunRecord) -> dict[str, Any]:
    """Returns what happened in a run, from its events: `{"moment": ...}`, whose fields are those of `LastMoment`, or
    null."""
    moments = MomentsSoFar()
    async for block in record.onwards(0):
        for event in block:
            moments.add(event)
    moment = moments.last(record.row.status)
    return {"moment": None if moment is None else asdict(moment)}


def _happened(
    kind: HappenedKind, text: str, about: str | None, seq: int | None, turn: int | None, promise: str | None = None
) -> Happened:
    return {
        "kind": kind, "text": text, "about": about, "strength": None, "seq": seq, "turn": turn, "promise": promise
    }  # fmt: skip


# --- totals ----------------------------------------------------------------------------------------------------------


async def runs_overview(store: ReadStore, project_id: int, where: RunFilter, steps: int) -> RunsOverview:
    """Returns totals over all runs that meet the conditions."""
    return overview_answer(await store.runs.overview(project_id, where, steps))


def overview_answer(cells: Sequence[OverviewCell]) -> RunsOverview:
    """Adds up the cells.  Pure."""
    words: dict[OutcomeWord, int] = {}
    starts: dict[int, StartedRuns] = {}
    for cell in cells:
        words[cell.word] = words.get(cell.word, 0) + cell.runs
        begun = starts.setdefault(
            cell.start_ns, {"start": rfc3339(cell.start_ns), "runs": 0, "succeeded": 0, "failed": 0}
        )
        begun["runs"] += cell.runs
        begun["succeeded"] += cell.runs if cell.word == "succeeded" else 0
        begun["failed"] += cell.runs if has_gone_wrong(cell.word) else 0
    outcomes: list[OutcomeCount] = [{"word": word, "runs": runs} for word, runs in sorted(words.items())]
    succeeded, priced = words.get("succeeded", 0), sum(cell.priced for cell in cells)
    return {
        "runs": sum(words.values()),
        "outcomes": outcomes,
        "condition": CONDITION,
        "success": rate_of(succeeded, sum(cell.scored for cell in cells) - succeeded),
        "cost": round(sum(cell.cost for cell in cells), 10) if priced else None,
        "priced": priced,
        "input_tokens": sum(cell.input_tokens for cell in cells),
        "output_tokens": sum(cell.output_tokens for cell in cells),
        "first": rfc3339(min(cell.first_ns for cell in cells)) if cells else None,
        "last": rfc3339(max(cell.last_ns for cell in cells)) if cells else None,
        "histogram": {"step_s": cells[0].step_ns / 1e9 if cells else 0.0, "steps": list(starts.values())},
    }


def rate_of(succeeded: int, failed: int) -> SuccessRate:
    """Returns the share of success with its 95 % Wilson interval; null without runs."""
    known = succeeded + failed
    bounds = wilson(succeeded, known) if known else None
    return {
        "succeeded": succeeded,
        "failed": failed,
        "rate": None if bounds is None else round(succeeded / known, 6),
        "low": None if bounds is None else round(bounds[0], 6),
        "high": None if bounds is None else round(bounds[1], 6),
    }
