"""project → [store]: writes the scores of projected events, beside the posted scores."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from playhead.model.event import RunEvent, ScoreRecorded
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.runs import BIGINT, clean, whole
from playhead_collector.store.postgres.statements import Conn

# Longer names and labels are cut, because they are in indexes and lists. The events have them whole.
_NAME, _LABEL = 200, 1_000


async def write(conn: Conn, project_id: int, events: Mapping[UUID, Sequence[RunEvent]]) -> None:
    """Stores the scores of these events; replaces a score that is stored already."""
    rows = [
        _row(run, event)
        for run, run_events in events.items()
        for event in run_events
        if isinstance(event, ScoreRecorded)
    ]
    if rows:
        await sql.run(conn, "write_recorded_scores", project_id=project_id, rows=orjson.dumps(rows).decode())


def columns_of(value: float | bool | str, label: str | None) -> dict[str, Any]:
    """Returns a score's value and label as columns."""
    if isinstance(value, str):
        return {"number": None, "is_boolean": False, "label": clean(value)[:_LABEL]}
    clean_label = None if label is None else clean(label)[:_LABEL]
    return {"number": float(value), "is_boolean": isinstance(value, bool), "label": clean_label}


def _row(run: UUID, event: ScoreRecorded) -> dict[str, Any]:
    return {
        "run_id": run.hex,
        "score_id": clean(event.id),
        "scored_ns": whole(event.time_ns, BIGINT),
        "name": clean(event.name)[:_NAME],
        "span": None if event.about is None else clean(event.about),
        "source": clean(event.source),
        "comment": None if event.comment is None else clean(event.comment),
        "explanation": None if event.explanation is None else event.explanation.digest.hex(),
        **columns_of(event.value, event.label),
    }
