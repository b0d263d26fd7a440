"""projection → [store]: writes the rows that a projection fills beside events.

Tool calls, decisions and errors go to the tables that are searched across runs; scores of projected events are written
beside the posted scores.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson

from playhead.model.event import RunEvent, ScoreRecorded
from playhead.projection.search_rows import DecisionRow, ErrorRow, SearchRows, ToolCallRow, search_rows
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.runs import BIGINT, clamp_int, without_nul
from playhead_collector.store.postgres.statements import Conn

# --- rows that are searched across runs ------------------------------------------------------------------------------


async def write_search_rows(
    conn: Conn, project_id: int, events: Mapping[UUID, Sequence[RunEvent]], anew: Sequence[UUID]
) -> None:
    """Stores the rows of these events. Deletes all earlier rows of runs in `anew`."""
    rows = {run: search_rows(run_events) for run, run_events in events.items()}
    await _write_tool_calls(conn, project_id, rows, anew)
    decisions = [(run, row) for run, run_rows in rows.items() for row in run_rows.decisions]
    if decisions or anew:
        await sql.run(conn, "write_decisions", project_id=project_id, whole=anew, **_decision_columns(decisions))
    errors = [(run, row) for run, run_rows in rows.items() for row in run_rows.errors]
    if errors or anew:
        await sql.run(conn, "write_errors", project_id=project_id, whole=anew, **_error_columns(errors))


async def _write_tool_calls(conn: Conn, project_id: int, rows: Mapping[UUID, SearchRows], anew: Sequence[UUID]) -> None:
    calls = [(run, row) for run, run_rows in rows.items() for row in run_rows.tool_calls]
    if calls or anew:
        await sql.run(conn, "write_tool_calls", project_id=project_id, whole=anew, **_tool_call_columns(calls))
    rewritten = set(anew)  # all rows of these runs were just written
    ended = [(run, *end) for run, run_rows in rows.items() if run not in rewritten for end in run_rows.ended.items()]
    if ended:
        await sql.run(
            conn,
            "end_tool_calls",
            project_id=project_id,
            runs=[run for run, _, _ in ended],
            calls=[_span_number(span) for _, span, _ in ended],
            outcomes=[outcome for _, _, outcome in ended],
        )


def _tool_call_columns(rows: Sequence[tuple[UUID, ToolCallRow]]) -> dict[str, Any]:
    return {
        **_columns_of_all(rows),
        "tools": [row.tool for _, row in rows],
        "outcomes": [row.outcome for _, row in rows],
        "calls": [None if row.span is None else _span_number(row.span) for _, row in rows],
    }


def _decision_columns(rows: Sequence[tuple[UUID, DecisionRow]]) -> dict[str, Any]:
    return {
        **_columns_of_all(rows),
        "kinds": [row.kind for _, row in rows],
        "abouts": [row.about for _, row in rows],
        "outcomes": [row.outcome for _, row in rows],
    }


def _error_columns(rows: Sequence[tuple[UUID, ErrorRow]]) -> dict[str, Any]:
    return {
        **_columns_of_all(rows),
        "kinds": [row.kind for _, row in rows],
        "types": [row.error_type for _, row in rows],
        "abouts": [row.about for _, row in rows],
    }


def _columns_of_all(rows: Sequence[tuple[UUID, ToolCallRow | DecisionRow | ErrorRow]]) -> dict[str, Any]:
    """Returns the columns that all three tables have: where and when something happened, and in which agent."""
    return {
        "runs": [run for run, _ in rows],
        "seqs": [row.seq for _, row in rows],
        "times": [clamp_int(row.time_ns, BIGINT) for _, row in rows],
        "agents": [row.agent for _, row in rows],
    }


def _span_number(span: str) -> int:
    """Returns eight bytes that identify a span within its run, also for ids that are not hex."""
    return int.from_bytes(sha256(span.encode("utf-8", "surrogatepass")).digest()[:8], signed=True)


# --- scores ----------------------------------------------------------------------------------------------------------

# Longer names and labels are cut, because they are in indexes and lists. The events have them whole.
_MAX_NAME, _MAX_LABEL = 200, 1_000


async def write_scores(conn: Conn, project_id: int, events: Mapping[UUID, Sequence[RunEvent]]) -> None:
    """Stores the scores of these events; replaces a score that is stored already."""
    rows = [
        _score_row(run, event)
        for run, run_events in events.items()
        for event in run_events
        if isinstance(event, ScoreRecorded)
    ]
    if rows:
        await sql.run(conn, "write_recorded_scores", project_id=project_id, rows=orjson.dumps(rows).decode())


def columns_of(value: float | bool | str, label: str | None) -> dict[str, Any]:
    """Returns a score's value and label as columns."""
    if isinstance(value, str):
        return {"number": None, "is_boolean": False, "label": without_nul(value)[:_MAX_LABEL]}
    clean_label = None if label is None else without_nul(label)[:_MAX_LABEL]
    return {"number": float(value), "is_boolean": isinstance(value, bool), "label": clean_label}


def _score_row(run: UUID, event: ScoreRecorded) -> dict[str, Any]:
    return {
        "run_id": run.hex,
        "score_id": without_nul(event.id),
        "scored_ns": clamp_int(event.time_ns, BIGINT),
        "name": without_nul(event.name)[:_MAX_NAME],
        "span": None if event.about is None else without_nul(event.about),
        "source": without_nul(event.source),
        "comment": None if event.comment is None else without_nul(event.comment),
        "explanation": None if event.explanation is None else event.explanation.digest.hex(),
        **columns_of(event.value, event.label),
    }
