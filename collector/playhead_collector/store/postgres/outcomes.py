"""projection, workers → [store] → read: what came of runs. It is written with each projection, and again after a change
of their scores and promises.

`run_outcome` has a row for each run. Whoever changes rows takes turns (`take_turns`) first: the statement
after that sees all scores and promises that were committed before, so that none is overlooked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

import orjson

from playhead.projection.happened import LastMoment
from playhead.projection.run_row import FirstSuspect, RunRow
from playhead_collector.store.ports.outcomes import LEVELS, FailedRun, UndescribedRun
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import (
    BIGINT,
    INT,
    clamp_int,
    id_of,
    moment_json,
    usage_of,
    without_nul,
)
from playhead_collector.store.postgres.statements import Conn


async def write(conn: Conn, project_id: int, rows: Iterable[RunRow]) -> None:
    """Writes what came of runs that were projected and written in this transaction, in its turn."""
    values = [_json_of(row) for row in rows]
    await sql.run(conn, "write_outcomes", project_id=project_id, rows=orjson.dumps(values).decode())


async def refresh(conn: Conn, project_id: int, runs: Sequence[UUID]) -> None:
    """Updates what came of runs after a change of their scores or promises in this transaction, of which this is to be
    the last step: others wait until it ends."""
    await sql.value(conn, "take_turns", project_id=project_id)
    await sql.run(conn, "refresh_outcomes", project_id=project_id, runs=runs)


async def lose(conn: Conn, project_id: int, runs: Sequence[UUID]) -> None:
    """Notes that runs are lost, which this transaction has locked."""
    await sql.value(conn, "take_turns", project_id=project_id)
    await sql.run(conn, "lose_outcomes", project_id=project_id, runs=runs)


def _json_of(row: RunRow) -> dict[str, Any]:
    """Returns the columns of a run that its record decides."""
    elapsed = None if row.ended_ns is None else max(0, row.ended_ns - row.started_ns)
    facts = row.facts
    return {
        "run_id": row.run,
        "started_ns": clamp_int(row.started_ns, BIGINT),
        "elapsed_ns": None if elapsed is None else clamp_int(elapsed, BIGINT),
        "input_tokens": clamp_int(row.input_tokens, BIGINT),
        "output_tokens": clamp_int(row.output_tokens, BIGINT),
        "cost": facts.cost,
        "priced": facts.price_table,
        "llm_calls": clamp_int(row.llm_calls, INT),
        "tool_calls": clamp_int(row.tool_calls, INT),
        "errors": clamp_int(row.errors, INT),
        "status": without_nul(row.status),
        "undescribed": False,
    }


class PostgresOutcomes:
    """Implements `ports.outcomes.OutcomeStore`.  All methods raise StoreUnavailable."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def failed_runs(self, limit: int) -> Sequence[FailedRun]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "failed_runs", how_many=limit)
        return [FailedRun(row["project_id"], row["run_id"].hex, row["projection"]) for row in rows]

    async def write_suspect(self, run: FailedRun, suspect: FirstSuspect | None, looked_ns: int) -> None:
        number, level = id_of(run.run), 0 if suspect is None else LEVELS[suspect.strength]
        text = None
        if suspect is not None:
            values = {name: without_nul(v) if isinstance(v, str) else v for name, v in asdict(suspect).items()}
            text = orjson.dumps(values).decode()
        async with self._db.transaction() as conn:
            if await self._is_unchanged(conn, run.project_id, number, run.projection):
                named: dict[str, Any] = {"project_id": run.project_id, "run": number}
                await sql.run(conn, "write_suspect", **named, suspect=text)
                await sql.run(conn, "write_suspect_level", **named, level=level, looked=looked_ns)

    async def undescribed_runs(self, limit: int) -> Sequence[UndescribedRun]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "undescribed_runs", how_many=limit)
        return [UndescribedRun(row["project_id"], row["run_id"].hex, row["projection"]) for row in rows]

    async def write_moment(self, run: UndescribedRun, moment: LastMoment | None) -> None:
        number = id_of(run.run)
        async with self._db.transaction() as conn:
            if await self._is_unchanged(conn, run.project_id, number, run.projection):
                named: dict[str, Any] = {"project_id": run.project_id, "run": number}
                await sql.run(conn, "write_moment", **named, happened=moment_json(moment))
                await refresh(conn, run.project_id, [number])  # a question that it has recorded says that it waits
                await sql.run(conn, "is_described", **named)

    async def _is_unchanged(self, conn: Conn, project_id: int, run: UUID, projection: int) -> bool:
        locked = await sql.value(conn, "lock_projection", project_id=project_id, run=run, projection=projection)
        return locked is not None

    async def unpriced_runs(self, table: int, limit: int) -> Sequence[tuple[int, RunRow]]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "unpriced_runs", table_number=table, how_many=limit)
        return [
            (row["project_id"], RunRow(row["run_id"].hex, None, "", 0, None, usage=usage_of(row["usage"])))
            for row in rows
        ]

    async def write_costs(self, project_id: int, table: int, costs: Mapping[str, float | None]) -> None:
        runs = sorted(costs)
        async with self._db.transaction() as conn:
            await sql.value(conn, "take_turns", project_id=project_id)
            await sql.run(
                conn,
                "write_costs",
                project_id=project_id,
                table_number=table,
                runs=[id_of(run) for run in runs],
                costs=[costs[run] for run in runs],
            )
