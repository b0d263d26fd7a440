"""[store]: lists of recorded runs, and facts about many runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from playhead.model.state import LOST, RUNNING, fold
from playhead.model.usage import ModelUsage
from playhead.projection.run_row import OutcomeFacts, RunRow
from playhead.wire.operations.verdict import OutcomeWord
from playhead_collector.store.ports.outcomes import (
    LEVELS,
    OverviewCell,
    deciding_score,
    outcome_of_row,
    step_ns,
    suspect_level,
)
from playhead_collector.store.ports.runs import (
    NEWEST_FIRST,
    LastError,
    OpenQuestion,
    RunFacts,
    RunFilter,
    RunOrder,
    RunPosition,
    ToolSteps,
)
from playhead_collector.store.ports.scores import StoredScore
from playhead_collector.store.records.ports import RecordSource, RunProjection
from playhead_collector.store.records.projecting import RecordProjector
from playhead_collector.store.records.scores import RecordScores, meets, score_columns

if TYPE_CHECKING:
    from playhead.projection.search_rows import SearchRows

Pricing = Callable[[Iterable[ModelUsage]], float | None]
"""Returns the cost of calls; None if no price is known."""


class RecordRuns:
    """Implements `ports.runs.RunReader` over a source of records. Each list projects the runs that have new records.

    No run is indexed, so every result of a tool counts as a success, even if it reports an error. There are no
    promises: a run waits for the questions that it has recorded.
    """

    def __init__(
        self, source: RecordSource, projector: RecordProjector, scores: RecordScores, cost_of: Pricing
    ) -> None:
        self._source = source
        self._projector = projector
        self._scores = scores
        self._cost_of = cost_of

    async def get(self, project_id: int, run: str) -> RunRow | None:
        projection = self._projector.projection(run)
        if projection is None:
            return None
        named = map(self._projector.projection, self._source.forks(run))
        forks = sum(fork is not None and fork.row.fork_of == run for fork in named)
        row = self._with_facts(self._with_status(projection), self._scores.recorded(run))
        return replace(row, parent_missing=self._is_parent_missing(row), forks=forks)

    async def page(
        self,
        project_id: int,
        where: RunFilter,
        *,
        limit: int,
        before: RunPosition | None = None,
        order: RunOrder = NEWEST_FIRST,
    ) -> Sequence[RunRow]:
        return self._page(where, limit, before, order)

    def _page(
        self, where: RunFilter, limit: int, before: RunPosition | None = None, order: RunOrder = NEWEST_FIRST
    ) -> list[RunRow]:
        def place(row: RunRow) -> tuple[float, int, str]:
            return order.key(row), row.started_ns, row.run

        chosen = self._matching(where)
        if before is not None:
            behind = before.key, before.started_ns, before.run
            chosen = [row for row in chosen if place(row) < behind]
        chosen = sorted(chosen, key=place, reverse=True)[:limit]
        forks: dict[str | None, int] = {}
        for projection in self._projector.projections():
            forks[projection.row.fork_of] = forks.get(projection.row.fork_of, 0) + 1
        return [
            replace(row, forks=forks.get(row.run, 0), parent_missing=self._is_parent_missing(row)) for row in chosen
        ]

    def _matching(self, where: RunFilter) -> list[RunRow]:
        """Returns the runs that meet all conditions, in any order."""
        rows = [self._with_status(projection) for projection in self._projector.projections()]
        scores: dict[str, list[StoredScore]] = {}
        for score in self._scores.recorded():
            scores.setdefault(score.run, []).append(score)
        chosen = [row for row in rows if _matches(row, where)]
        if (wanted := where.score) is not None:
            chosen = [row for row in chosen if any(meets(wanted, score) for score in scores.get(row.run, ()))]
        chosen = [self._with_facts(row, scores.get(row.run, ())) for row in chosen]
        return [row for row in chosen if _has_outcome(row, where)] if where.needs_outcome else chosen

    def _with_facts(self, row: RunRow, scores: Iterable[StoredScore]) -> RunRow:
        """Returns the run with what came of it. `scores`: those of the run and of its calls."""
        score = deciding_score(scores)
        facts = OutcomeFacts(
            score_name=None if score is None else score.name,
            score=None if score is None or isinstance(score.value, str) else score.value,
            waiting=row.happened is not None and row.happened.kind == "question",
            cost=self._cost_of(row.usage),
        )
        return replace(row, facts=facts)

    async def overview(self, project_id: int, where: RunFilter, steps: int) -> Sequence[OverviewCell]:
        rows = self._matching(where)
        if not rows:
            return []
        starts = [row.started_ns for row in rows]
        step = step_ns(min(starts), max(starts), steps)
        cells: dict[tuple[int, OutcomeWord], list[RunRow]] = {}
        for row in rows:
            cells.setdefault((row.started_ns // step * step, outcome_of_row(row)), []).append(row)
        return [_cell(start_ns, step, word, of_cell) for (start_ns, word), of_cell in sorted(cells.items())]

    async def questions(self, project_id: int, runs: Sequence[str]) -> Mapping[str, OpenQuestion]:
        return {}

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
        rows = self._page(where, len(self._source.runs()))
        return self._facts([row for row in rows if row.fork_of is None][:limit], score)

    async def facts_of(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        wanted = set(runs)
        rows = self._page(RunFilter(), len(self._source.runs()))
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


def _cell(start_ns: int, step: int, word: OutcomeWord, rows: Sequence[RunRow]) -> OverviewCell:
    costs = [row.facts.cost for row in rows if row.facts.cost is not None]
    return OverviewCell(
        start_ns=start_ns,
        step_ns=step,
        word=word,
        runs=len(rows),
        scored=sum(row.facts.score is not None and row.ended_ns is not None for row in rows),
        cost=sum(costs),
        priced=len(costs),
        input_tokens=sum(row.input_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        first_ns=min(row.started_ns for row in rows),
        last_ns=max(row.started_ns for row in rows),
    )


def _has_outcome(row: RunRow, where: RunFilter) -> bool:
    """Returns whether the run meets the conditions for what came of it."""
    cost = row.facts.cost
    return (
        (not where.outcomes or outcome_of_row(row) in where.outcomes)
        and (where.suspect is None or suspect_level(row) >= LEVELS[where.suspect])
        and (where.cost_above is None or (cost is not None and cost > where.cost_above))
    )


def _matches(row: RunRow, where: RunFilter) -> bool:
    """Returns whether the run meets all conditions except those for its scores and for what came of it."""
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
