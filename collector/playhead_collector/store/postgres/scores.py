"""serve → [store] → forward: stores posted scores, reads all scores, and converts posted ones to log events.

It is the log event that OpenTelemetry defines for evaluations. So a score is forwarded like a log event, whether a
program reported it or a person posted it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from asyncpg import Record

from playhead.model import names
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead_collector.store.ports.scores import ScoreFilter, ScoreToAdd, StoredScore
from playhead_collector.store.postgres import outcomes
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_write
from playhead_collector.store.postgres.ingest import fill_log
from playhead_collector.store.postgres.projected_rows import columns_of
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.runs import BIGINT, LAST_RUN, clamp_int, id_of, without_nul
from playhead_collector.store.postgres.statements import Conn


def evaluation(score: StoredScore) -> LogEvent:
    """Returns the log event for a score. The same score gives the same log event."""
    value = score.value
    kind = "category" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"
    fields: dict[str, Any] = {
        names.RUN_ID: score.run,
        names.EVALUATION_NAME: score.name,
        names.EVALUATION_VALUE: None if isinstance(value, str) else float(value),
        names.EVALUATION_LABEL: value if isinstance(value, str) else score.label,
        names.EVALUATION_EXPLANATION: score.comment,
        names.SCORE_TYPE: kind,
        names.SCORED_SPAN: score.span,
        names.SCORE_AUTHOR: score.author,
        names.SCORE_ID: score.id,
    }
    attributes = {key: value for key, value in fields.items() if value is not None}
    return LogEvent(names.EVALUATION, score.scored_ns, score.run, score.span, attributes, names.SCOPE, {})


class PostgresScores:
    """Implements `ports.scores.ScoreReader`, and stores posted scores."""

    def __init__(self, db: Database, clock: Callable[[], int], recipients: Sequence[Recipient]) -> None:
        self._db = db
        self._clock = clock
        self._recipients = recipients

    async def add(self, project_id: int, run: str, score: ScoreToAdd) -> StoredScore | None:
        """Stores the score and returns it. If the run already has a score with this id, returns the stored one.  None:
        there is no such run. Raises StoreUnavailable."""
        number = id_of(run)

        async def attempt(conn: Conn) -> StoredScore | None:
            await begin_write(conn, project_id, [number])  # a run that is being deleted keeps no score
            is_new = await sql.row(conn, "add_score", project_id=project_id, run=number, **_columns(score)) is not None
            row = await sql.row(conn, "score", project_id=project_id, run=number, score_id=score.id)
            stored = None if row is None else _score(row)
            if is_new and stored is not None:
                await fill_log(conn, project_id, self._recipients, evaluation(stored), number, self._clock())
                if stored.span is None:
                    await outcomes.refresh(conn, project_id, [number])
            return stored

        return await self._db.transact(attempt)

    async def page(
        self, project_id: int, where: ScoreFilter, *, limit: int, before: tuple[int, str, str] | None = None
    ) -> Sequence[StoredScore]:
        async with self._db.reading() as conn:
            rows = await sql.rows(
                conn,
                "scores",
                project_id=project_id,
                run=None if where.run is None else id_of(where.run),
                name=_cleaned(where.name),
                source=_cleaned(where.source),
                latest=where.latest,
                since=-BIGINT if where.since_ns is None else clamp_int(where.since_ns, BIGINT),
                until=BIGINT if where.until_ns is None else clamp_int(where.until_ns, BIGINT),
                before_ns=BIGINT if before is None else before[0],
                before_run=LAST_RUN if before is None else id_of(before[1]),
                before_id="" if before is None else before[2],
                how_many=limit,
            )
        return [_score(row) for row in rows]

    async def of_runs(self, project_id: int, runs: Sequence[str]) -> Mapping[str, Sequence[StoredScore]]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "scores_of_runs", project_id=project_id, runs=[id_of(run) for run in runs])
        by_run: dict[str, list[StoredScore]] = {}
        for score in map(_score, rows):
            by_run.setdefault(score.run, []).append(score)
        return by_run


async def posted(conn: Conn, project_id: int, run: UUID) -> list[LogEvent]:
    """Returns the posted scores of a run, as log events."""
    return [evaluation(_score(row)) for row in await sql.rows(conn, "posted_scores", project_id=project_id, run=run)]


def _columns(score: ScoreToAdd) -> dict[str, Any]:
    return {
        "score_id": score.id,
        "scored_ns": None if score.scored_ns is None else clamp_int(score.scored_ns, BIGINT),
        "name": without_nul(score.name),
        "span": score.span,
        "source": score.source,
        "author": _cleaned(score.author),
        "api_key": _cleaned(score.api_key),
        "comment": _cleaned(score.comment),
        **columns_of(score.value, score.label),
    }


def _cleaned(text: str | None) -> str | None:
    return None if text is None else without_nul(text)


def _score(row: Record) -> StoredScore:
    run: UUID = row["run_id"]
    number: float | None = row["number"]
    return StoredScore(
        run=run.hex,
        id=row["score_id"],
        name=row["name"],
        value=row["label"] if number is None else number != 0 if row["is_boolean"] else number,
        label=None if number is None else row["label"],
        span=row["span"],
        source=row["source"],
        author=row["author"],
        api_key=row["api_key"],
        comment=row["comment"],
        explanation=None if row["explanation"] is None else ContentRef.from_digest(row["explanation"]),
        scored_ns=row["scored_ns"],
        is_latest=row["is_latest"],
    )
