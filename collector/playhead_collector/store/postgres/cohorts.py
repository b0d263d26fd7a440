"""analysis → [store]: facts about many runs at once."""

from collections.abc import Sequence

from playhead.projection.search_rows import ToolOutcome
from playhead_collector.store.ports.cohorts import LastError, RunFacts, RunFilter, ToolSteps
from playhead_collector.store.postgres import runs as run_rows
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import id_of

_OUTCOMES = {outcome.value: outcome for outcome in ToolOutcome}


class PostgresCohortStore:
    """Implements `ports.cohorts.CohortStore`."""

    _db: Database

    async def run_facts(
        self, project_id: int, where: RunFilter, score: str | None, *, limit: int
    ) -> Sequence[RunFacts]:
        async with self._db.reading() as conn:
            return await run_rows.facts(conn, project_id, where, score, limit)

    async def facts_of_runs(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        async with self._db.reading() as conn:
            return await run_rows.facts_of(conn, project_id, runs, score)

    async def tool_steps(self, project_id: int, runs: Sequence[str]) -> Sequence[ToolSteps]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "tool_steps", project_id=project_id, runs=[id_of(run) for run in runs])
        return [
            ToolSteps(row["run_id"].hex, row["tools"], [_OUTCOMES[outcome] for outcome in row["outcomes"]], row["seqs"])
            for row in rows
        ]

    async def last_errors(self, project_id: int, runs: Sequence[str]) -> Sequence[LastError]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "last_errors", project_id=project_id, runs=[id_of(run) for run in runs])
        return [LastError(row["run_id"].hex, row["seq"], row["error_type"], row["about"]) for row in rows]
