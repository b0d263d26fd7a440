"""serve, workers → [store]: scorers, and the runs that wait to be scored.

A run is noted by the statement that writes its projection (`run.scorers_due`), so that ingest and projection do nothing
more. Once it is sealed, it is queued for the scorers that want it. Whoever takes a run from the queue has a lease:
another collector goes on with what a killed one has left.
"""

import datetime
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.scorers import (
    JUDGE_AGENT,
    BackfillProgress,
    DueScoring,
    ScorerDefinition,
    ScorerRow,
    ScorerSelection,
    ScorerStatus,
    ScoringCounts,
    is_sampled,
)
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.ingest import date_of
from playhead_collector.store.postgres.runs import BIGINT, LAST_RUN, conditions_of, id_of, label, without_nul
from playhead_collector.store.postgres.statements import Conn

_JUDGE: Final = label("agent", JUDGE_AGENT)
_FIRST_DAY: Final = datetime.date(1970, 1, 1)


class PostgresScorers:
    """Implements `ports.scorers.ScorerStore`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def of_project(self, project_id: int) -> Sequence[ScorerRow]:
        async with self._db.reading() as conn:
            return [_scorer(row) for row in await sql.rows(conn, "scorers", project_id=project_id)]

    async def set(
        self,
        project_id: int,
        name: str,
        definition: ScorerDefinition,
        selection: ScorerSelection,
        where: RunFilter,
        *,
        enabled: bool,
        now_ns: int,
    ) -> ScorerRow:
        conditions = conditions_of(where)
        columns = {
            "definition": _json(asdict(definition)),
            "selection": _json(asdict(selection)),
            "labels": conditions["labels"],
            "search": conditions["search"],
        }
        async with self._db.transaction() as conn:
            row = await sql.row(
                conn, "set_scorer", project_id=project_id, name=name, enabled=enabled, now=now_ns, **columns
            )
        assert row is not None  # noqa: S101 - an upsert returns its row
        return _scorer(row)

    async def delete(self, project_id: int, name: str) -> bool:
        async with self._db.transaction() as conn:
            return await sql.value(conn, "delete_scorer", project_id=project_id, name=name) is not None

    async def begin_backfill(self, scorer: ScorerRow, progress: BackfillProgress) -> None:
        async with self._db.transaction() as conn:
            await _write_backfill(conn, scorer, progress)

    async def stop_backfill(self, scorer: ScorerRow) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "stop_scorer_backfill", project_id=scorer.project_id, scorer=scorer.number)

    async def status(self, scorer: ScorerRow, now_ns: int, failures: int) -> ScorerStatus:
        named: dict[str, Any] = {"project_id": scorer.project_id, "scorer": scorer.number}
        async with self._db.reading() as conn:
            today = await sql.row(conn, "scorer_counts", **named, since=date_of(now_ns))
            total = await sql.row(conn, "scorer_counts", **named, since=_FIRST_DAY)
            due = await sql.value(conn, "count_due_scorings", **named)
            failed = await sql.rows(conn, "failed_scorings", **named, how_many=failures)
        given_up = [(row["run_id"].hex, row["error"] or "") for row in failed]
        return ScorerStatus(_counts(today), _counts(total), due, given_up)

    # --- the queue ----------------------------------------------------------------------------------------------------

    async def in_use(self) -> Sequence[ScorerRow]:
        async with self._db.reading() as conn:
            return [_scorer(row) for row in await sql.rows(conn, "scorers_in_use")]

    async def note_arrived(self, limit: int, now_ns: int) -> ScoringCounts | None:
        left_out = 0
        async with self._db.transaction() as conn:
            rows = await sql.rows(conn, "take_arrived_runs", how_many=limit)
            for project_id in {row["project_id"] for row in rows}:
                runs = [row["run_id"] for row in rows if row["project_id"] == project_id]
                matches = await sql.rows(conn, "scorers_of_runs", project_id=project_id, runs=runs, judge=_JUDGE)
                chosen = [row for row in matches if is_sampled(row["run_id"].hex, row["name"], row["sample"])]
                await _add_due(
                    conn, project_id, [(row["scorer_id"], row["run_id"]) for row in chosen], now_ns, backfill=False
                )
                skipped = Counter(row["scorer_id"] for row in matches)
                skipped.subtract(row["scorer_id"] for row in chosen)
                for scorer, count in skipped.items():
                    if count:
                        await _count(conn, project_id, scorer, now_ns, ScoringCounts(not_sampled=count))
                left_out += skipped.total()
        return ScoringCounts(not_sampled=left_out) if rows else None

    async def backfill_some(self, limit: int, most_waiting: int, now_ns: int) -> bool:
        async with self._db.transaction() as conn:
            row = await sql.row(conn, "lock_backfill", most_waiting=most_waiting)
            if row is None:
                return False
            scorer = _scorer(row)
            progress = scorer.backfill
            assert progress is not None  # noqa: S101 - the statement returns no other
            rows = await sql.rows(
                conn,
                "runs_to_backfill",
                project_id=scorer.project_id,
                labels=row["labels"],
                search=row["search"],
                judge=_JUDGE,
                since=-BIGINT if progress.since_ns is None else progress.since_ns,
                until=BIGINT if progress.until_ns is None else progress.until_ns,
                before_started=BIGINT if progress.before_started is None else progress.before_started,
                before_run=LAST_RUN if progress.before_run is None else id_of(progress.before_run),
                how_many=limit,
            )
            fitting = [each["run_id"] for each in rows if each["fits"]]
            chosen = [run for run in fitting if is_sampled(run.hex, scorer.name, scorer.selection.sample)]
            queued = await _add_due(
                conn, scorer.project_id, [(scorer.number, run) for run in chosen], now_ns, backfill=True
            )
            progress = replace(progress, looked=progress.looked + len(rows), queued=progress.queued + queued)
            if len(rows) < limit:
                progress = replace(progress, state="done")
            else:
                last = rows[-1]
                progress = replace(progress, before_started=last["started_ns"], before_run=last["run_id"].hex)
            await _write_backfill(conn, scorer, progress)
        return True

    async def take(self, project_id: int, limit: int, now_ns: int, lease_until_ns: int) -> Sequence[DueScoring]:
        async with self._db.transaction() as conn:
            rows = await sql.rows(
                conn,
                "take_due_scorings",
                project_id=project_id,
                how_many=limit,
                now=now_ns,
                lease_until=lease_until_ns,
            )
        return [
            DueScoring(row["scorer_id"], row["project_id"], row["run_id"].hex, row["attempts"], row["backfill"])
            for row in rows
        ]

    async def begin(self, scorer: ScorerRow, now_ns: int) -> bool:
        budget = scorer.selection
        limits = {"runs": budget.runs_per_day, "tokens": budget.tokens_per_day, "cost": budget.cost_per_day}
        async with self._db.transaction() as conn:
            begun = await sql.value(
                conn,
                "begin_scoring",
                project_id=scorer.project_id,
                scorer=scorer.number,
                day=date_of(now_ns),
                **limits,
            )
        return begun is not None

    async def finish(self, due: DueScoring, events: int, counts: ScoringCounts, now_ns: int) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "finish_scoring", **_named(due), events=events)
            await _count(conn, due.project_id, due.scorer, now_ns, counts)

    async def drop(self, due: DueScoring, counts: ScoringCounts, now_ns: int) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "drop_scoring", **_named(due))
            await _count(conn, due.project_id, due.scorer, now_ns, counts)

    async def fail(self, due: DueScoring, error: str, counts: ScoringCounts, now_ns: int, retry_ns: int | None) -> None:
        when, text = now_ns if retry_ns is None else retry_ns, without_nul(error)
        async with self._db.transaction() as conn:
            await sql.run(conn, "fail_scoring", **_named(due), error=text, due=when, given_up=retry_ns is None)
            await _count(conn, due.project_id, due.scorer, now_ns, counts)

    async def postpone(self, due: DueScoring, due_ns: int) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "postpone_scoring", **_named(due), due=due_ns)


async def _add_due(
    conn: Conn, project_id: int, pairs: Sequence[tuple[int, UUID]], now_ns: int, *, backfill: bool
) -> int:
    if not pairs:
        return 0
    columns = {"scorers": [scorer for scorer, _ in pairs], "runs": [run for _, run in pairs]}
    added = await sql.rows(conn, "add_due_scorings", project_id=project_id, **columns, backfill=backfill, now=now_ns)
    return len(added)


async def _write_backfill(conn: Conn, scorer: ScorerRow, progress: BackfillProgress) -> None:
    named = {"project_id": scorer.project_id, "scorer": scorer.number}
    await sql.run(conn, "write_backfill", **named, backfill=_json(asdict(progress)))


async def _count(conn: Conn, project_id: int, scorer: int, now_ns: int, counts: ScoringCounts) -> None:
    columns = asdict(counts)
    del columns["begun"]  # counted when it begins
    await sql.run(conn, "count_scoring", project_id=project_id, scorer=scorer, day=date_of(now_ns), **columns)


def _named(due: DueScoring) -> dict[str, Any]:
    return {"project_id": due.project_id, "scorer": due.scorer, "run": id_of(due.run)}


def _json(value: object) -> str:
    return json.dumps(value)


def _counts(row: Record | None) -> ScoringCounts:
    return ScoringCounts() if row is None else ScoringCounts(**dict(row))


def _scorer(row: Record) -> ScorerRow:
    backfill = row["backfill"]
    return ScorerRow(
        number=row["scorer_id"],
        project_id=row["project_id"],
        name=row["name"],
        version=row["version"],
        enabled=row["enabled"],
        created_ns=row["created_ns"],
        definition=ScorerDefinition(**json.loads(row["definition"])),
        selection=ScorerSelection(**json.loads(row["selection"])),
        backfill=None if backfill is None else BackfillProgress(**json.loads(backfill)),
    )
