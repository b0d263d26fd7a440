"""[store]: lists of recorded runs, and facts about many runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from playhead.model.state import LOST, RUNNING, fold
from playhead.projection.run_row import RunRow
from playhead_collector.store.ports.runs import LastError, RunFacts, RunFilter, ToolSteps
from playhead_collector.store.records.ports import RecordSource, RunProjection
from playhead_collector.store.records.projecting import RecordProjector
from playhead_collector.store.records.scores import RecordScores, meets, score_columns

if TYPE_CHECKING:
    from playhead.projection.search_rows import SearchRows


class RecordRuns:
    """Implements `ports.runs.RunReader` over a source of records. Each list projects the runs that have new records.

    No run is indexed, so every result of a tool counts as a success, even if it reports an error.
    """

    def __init__(self, source: RecordSource, projector: RecordProjector, scores: RecordScores) -> None:
        self._source = source
        self._projector = projector
        self._scores = scores

    async def get(self, project_id: int, run: str) -> RunRow | None:
        projection = self._projector.projection(run)
        if projection is None:
            return None
        named = map(self._projector.projection, self._source.forks(run))
        forks = sum(fork is not None and fork.row.fork_of == run for fork in named)
        row = self._with_status(projection)
        return replace(row, parent_missing=self._is_parent_missing(row), forks=forks)

    async def page(
        self, project_id: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        return self._chosen(where, limit, before)

    def _chosen(self, where: RunFilter, limit: int, before: tuple[int, str] | None = None) -> list[RunRow]:
        """Returns the summaries of matching runs, newest first."""
        rows = [self._with_status(projection) for projection in self._projector.projections()]
        forks: dict[str | None, int] = {}
        for row in rows:
            forks[row.fork_of] = forks.get(row.fork_of, 0) + 1
        chosen = [row for row in rows if _matches(row, where)]
        if before is not None:
            chosen = [row for row in chosen if _order(row) < before]
        if (wanted := where.score) is not None:
            scored = {score.run for score in self._scores.recorded() if meets(wanted, score)}
            chosen = [row for row in chosen if row.run in scored]
        chosen = sorted(chosen, key=_order, reverse=True)[:limit]
        return [
            replace(row, forks=forks.get(row.run, 0), parent_missing=self._is_parent_missing(row)) for row in chosen
        ]

    def _with_status(self, projection: RunProjection) -> RunRow:
        """Returns the run's summary, with the status `lost` if it is running, its processes are gone and it waits for
        no answer."""
        row = projection.row
        if row.status != RUNNING or not self._source.is_gone(row.run) or fold(projection.events).pending_approvals:
            return row
        return replace(row, status=LOST, lost_ns=projection.last_ns)

    def _is_parent_missing(self, row: RunRow) -> bool:
        seen: set[str] = set()
        above = row.fork_of
        while above is not None and above not in seen:
            seen.add(above)
            projection = self._projector.projection(above)
            if projection is None:
                return True
            above = projection.row.fork_of
        return False

    async def facts(self, project_id: int, where: RunFilter, score: str | None, *, limit: int) -> Sequence[RunFacts]:
        rows = self._chosen(where, len(self._source.runs()))
        return self._facts([row for row in rows if row.fork_of is None][:limit], score)

    async def facts_of(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        wanted = set(runs)
        rows = self._chosen(RunFilter(), len(self._source.runs()))
        return self._facts([row for row in rows if row.run in wanted and row.fork_of is None], score)

    def _facts(self, rows: Sequence[RunRow], name: str | None) -> list[RunFacts]:
        if name is None:
            return [RunFacts(row, None, None, indexed=False) for row in rows]
        scores = [
            score for score in self._scores.recorded() if score.is_latest and score.span is None and score.name == name
        ]
        latest = {score.run: score for score in scores}
        return [RunFacts(row, *score_columns(latest.get(row.run)), indexed=False) for row in rows]

    async def tool_steps(self, project_id: int, runs: Sequence[str]) -> Sequence[ToolSteps]:
        by_run = ((run, rows.tool_calls) for run, rows in self._search_rows(runs) if rows.tool_calls)
        return [
            ToolSteps(
                run, [call.tool for call in calls], [call.outcome for call in calls], [call.seq for call in calls]
            )
            for run, calls in by_run
        ]

    async def last_errors(self, project_id: int, runs: Sequence[str]) -> Sequence[LastError]:
        by_run = ((run, rows.errors[-1]) for run, rows in self._search_rows(runs) if rows.errors)
        return [LastError(run, error.seq, error.error_type, error.about) for run, error in by_run]

    def _search_rows(self, runs: Iterable[str]) -> "Iterator[tuple[str, SearchRows]]":
        from playhead.projection.search_rows import search_rows  # noqa: PLC0415 - few questions need it

        for run in runs:
            if (projection := self._projector.projection(run)) is not None:
                yield run, search_rows(projection.events)


def _order(row: RunRow) -> tuple[int, str]:
    return row.started_ns, row.run


def _matches(row: RunRow, where: RunFilter) -> bool:
    """Returns whether the run meets all conditions except the one for a score."""
    texts = (row.name, row.session, row.user, *row.agents, *row.tags)
    return (
        where.agent in (None, *row.agents)
        and where.status in (None, row.status)
        and where.session in (None, row.session)
        and where.user in (None, row.user)
        and where.tag in (None, *row.tags)
        and where.model in (None, *row.models)
        and where.tool in (None, *row.tools)
        and where.with_error in (None, row.errors > 0)
        and where.fork_of in (None, row.fork_of)
        and where.trace in (None, *row.traces)
        and where.linked in (None, *row.linked)
        and (where.id_part or "") in row.run
        and (where.text or "").lower() in "\n".join(text.lower() for text in texts if text)
        and (where.since_ns is None or row.started_ns >= where.since_ns)
        and (where.until_ns is None or row.started_ns <= where.until_ns)
    )
