"""Lists of runs, and the summary of one run."""

from collections.abc import Sequence
from typing import Any

from playhead.model.event import RunFailed, RunStarted
from playhead.model.state import FAILED
from playhead.model.times import rfc3339
from playhead.projection.run_row import HandedProcess, RunRow
from playhead.wire.operations import CallError, Fork, Page, RunDetail, RunProcess, RunSummary
from playhead.wire.operations.runs import Happened
from playhead.wire.operations.scores import RecordedScore
from playhead_collector.read.outcomes import outcome_answer, read_happened, scored_answer
from playhead_collector.read.paging import list_cursor, read_list_cursor
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.retention import retention_answer, tier_of
from playhead_collector.read.scores import score_answer
from playhead_collector.read.state import elapsed_ms
from playhead_collector.read.values import fetch
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.runs import NEWEST_FIRST, RunFilter, RunOrder
from playhead_collector.store.ports.scores import ScoreFilter, StoredScore

_QUESTIONS = (
    "events",
    "state",
    "context",
    "messages",
    "llm-calls",
    "tool-calls",
    "checkpoints",
    "spans",
    "tree",
    "decisions",
    "attributions",
    "tokens",
    "scores",
)
# Limits of lists in a summary; a list of runs with `fork_of` has all forks.
_MAX_FORKS = 100
_MAX_LINKED = 100
_MAX_SCORES = 100


async def list_runs(
    store: ReadStore,
    project_id: int,
    where: RunFilter,
    limit: int,
    cursor: str | None,
    prices: Prices,
    order: RunOrder = NEWEST_FIRST,
) -> Page[RunSummary]:
    """Returns a page of runs in this order."""
    before = read_list_cursor(cursor, order)
    rows = await store.runs.page(project_id, where, limit=limit + 1, before=before, order=order)
    page = rows[:limit]
    happened = await read_happened(store, project_id, page)
    scores = await store.scores.of_runs(project_id, [row.run for row in page])
    return {
        "items": [run_summary(row, prices, happened[row.run], scores.get(row.run, ())) for row in page],
        "next_cursor": list_cursor(page[-1], order) if len(rows) > limit else None,
    }


def run_summary(row: RunRow, prices: Prices, happened: Happened | None, scores: Sequence[StoredScore]) -> RunSummary:
    """Converts a run's row to an answer. `scores`: those of the run as a whole, newest first."""
    return {
        "run": row.run,
        "name": row.name,
        "status": row.status,
        "outcome": outcome_answer(row),
        "happened": happened,
        "scored": scored_answer(scores),
        "started": rfc3339(row.started_ns),
        "ended": None if row.ended_ns is None else rfc3339(row.ended_ns),
        "last_record": None if row.lost_ns is None else rfc3339(row.lost_ns),
        "elapsed_ms": elapsed_ms(row.started_ns, row.ended_ns),
        "attempt": row.attempt,
        "session": row.session,
        "user": row.user,
        "tags": list(row.tags),
        "agents": list(row.agents),
        "models": list(row.models),
        "tools": list(row.tools),
        "events": row.events,
        "llm_calls": row.llm_calls,
        "tool_calls": row.tool_calls,
        "errors": row.errors,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cost": prices.cost_of(row.usage),
        "context_peak": row.context_peak,
        "context_limit": prices.limit_at(row.models, row.context_peak),
        "compressions": row.compressions,
        "completeness": {
            "complete": row.spans_missing == 0 and row.content_pending == 0 and not row.parent_missing,
            "spans_missing": row.spans_missing,
            "content_pending": row.content_pending,
            "parent_missing": row.parent_missing,
            "sealed": row.sealed,
            "retained": tier_of(row),
        },
        "fork_of": row.fork_of,
        "fork_at": row.fork_at,
        "shared": row.shared,
        "fork_count": row.forks,
        "pinned": row.pinned,
    }


async def run_detail(record: RunRecord, prices: Prices) -> RunDetail:
    """Returns the summary with metadata, error, forks, scores, and the paths of further questions."""
    forks = await record.store.runs.page(record.project_id, RunFilter(fork_of=record.run), limit=_MAX_FORKS + 1)
    path = f"/api/v1/runs/{record.run}"
    links = {"self": path} | {question.replace("-", "_"): f"{path}/{question}" for question in _QUESTIONS}
    if record.row.fork_of is not None:
        links["fork_of"] = f"/api/v1/runs/{record.row.fork_of}"
    started = await _started(record)
    if started is not None and started.continues:
        links["continues"] = f"/api/v1/runs/{started.continues}"
    if record.row.traces:
        links["same_trace"] = f"/api/v1/runs?trace={record.row.traces[0]}"
    if forks:
        links["forks"] = f"/api/v1/runs?fork_of={record.run}"
    happened = await read_happened(record.store, record.project_id, [record.row])
    scores = await record.store.scores.of_runs(record.project_id, [record.run])
    return {
        **run_summary(record.row, prices, happened[record.run], scores.get(record.run, ())),
        "metadata": await _metadata(record, started),
        "error": await _error(record),
        "attempts": record.row.attempt + 1,
        "forks": [_fork(row) for row in forks[:_MAX_FORKS]],
        "more_forks": len(forks) > _MAX_FORKS,
        "scores": await _scores(record),
        "continues": started.continues if started is not None else None,
        "continued_by": list(record.row.continued_by),
        "processes": [_process(process) for process in record.row.processes],
        "process_count": record.row.process_count,
        "traces": list(record.row.traces),
        "linked": await _linked(record),
        "links": links,
        "retention": retention_answer(record.row),
    }


async def _scores(record: RunRecord) -> list[RecordedScore]:
    """Returns the latest scores of the run and of its calls, newest first."""
    where = ScoreFilter(record.run, latest=True)
    return [
        score_answer(score) for score in await record.store.scores.page(record.project_id, where, limit=_MAX_SCORES)
    ]


async def _started(record: RunRecord) -> RunStarted | None:
    """Returns the run's start event; None if it has not arrived."""
    return next((event for event in await record.events(limit=1) if isinstance(event, RunStarted)), None)


async def _metadata(record: RunRecord, started: RunStarted | None) -> Any:
    """Returns the run's metadata; None when there is none or it is not stored."""
    if started is None or not started.metadata:
        return None
    return (await fetch(record.store, record.project_id, [started.metadata])).value(started.metadata)


async def _linked(record: RunRecord) -> list[str]:
    """Returns the runs that this run names in links, then the runs that name this run."""
    naming = await record.store.runs.page(record.project_id, RunFilter(linked=record.run), limit=_MAX_LINKED)
    return list(dict.fromkeys([*record.row.linked, *(row.run for row in naming)]))


def _process(process: HandedProcess) -> RunProcess:
    return {
        "process": process.process,
        "started": rfc3339(process.started_ns),
        "ended": None if process.ended_ns is None else rfc3339(process.ended_ns),
        "spans": process.spans,
        "spans_missing": process.spans_missing,
    }


async def _error(record: RunRecord) -> CallError | None:
    """Returns the error of the failed run; None for a run that has not failed."""
    if record.row.status != FAILED:
        return None
    async for block in record.backwards(record.last):
        for event in reversed(block):
            if isinstance(event, RunFailed):
                return {"type": event.error_type, "message": event.message}
    return None


def _fork(row: RunRow) -> Fork:
    return {
        "run": row.run,
        "at": row.fork_at,
        "status": row.status,
        "started": rfc3339(row.started_ns),
        "events": row.events,
    }
