"""[store]: lists of recorded runs, and facts about many runs."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from playhead.model.event import LlmCalled, RunEvent, ScoreRecorded
from playhead.model.ref import ContentRef
from playhead.model.state import LOST, RUNNING, fold
from playhead.projection.run_row import RunRow
from playhead_collector.store.ports import RunFilter
from playhead_collector.store.ports.cohorts import LastError, RunFacts, ToolSteps
from playhead_collector.store.ports.scores import Comparison, ScoreCondition, ScoreFilter, StoredScore
from playhead_collector.store.ports.uses import ContentUse, EventRange, SameContext, UseTotals
from playhead_collector.store.records.ports import RecordSource, RunProjection
from playhead_collector.store.records.projecting import RecordProjector

if TYPE_CHECKING:
    from playhead.projection.search_rows import SearchRows

_COMPARISONS: Mapping[Comparison, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


class RecordLists:
    """The methods of `RecordStore` that read many runs. Each projects the runs that have new records.

    No run is indexed, so every result of a tool counts as a success, even if it reports an error.
    """

    def __init__(self, source: RecordSource, projector: RecordProjector) -> None:
        self._source = source
        self._projector = projector

    def _projections(self) -> Iterator[RunProjection]:
        for run in self._source.runs():
            if (projection := self._projector.projection(run)) is not None:
                yield projection

    async def run(self, project_id: int, run: str) -> RunRow | None:
        projection = self._projector.projection(run)
        if projection is None:
            return None
        named = map(self._projector.projection, self._source.forks(run))
        forks = sum(fork is not None and fork.row.fork_of == run for fork in named)
        row = self._with_status(projection)
        return replace(row, parent_missing=self._is_parent_missing(row), forks=forks)

    async def runs(
        self, project_id: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        return self._chosen(where, limit, before)

    def _chosen(self, where: RunFilter, limit: int, before: tuple[int, str] | None = None) -> list[RunRow]:
        """Returns the summaries of matching runs, newest first."""
        rows = [self._with_status(projection) for projection in self._projections()]
        forks: dict[str | None, int] = {}
        for row in rows:
            forks[row.fork_of] = forks.get(row.fork_of, 0) + 1
        chosen = [row for row in rows if _matches(row, where)]
        if before is not None:
            chosen = [row for row in chosen if _order(row) < before]
        if (wanted := where.score) is not None:
            scored = {score.run for score in self._scores() if _is_met(wanted, score)}
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

    # --- scores -------------------------------------------------------------------------------------------------------

    async def scores(
        self, project_id: int, where: ScoreFilter, *, limit: int, before: tuple[int, str, str] | None = None
    ) -> Sequence[StoredScore]:
        matches = [
            score
            for score in self._scores(where.run)
            if where.name in (None, score.name)
            and where.source in (None, score.source)
            and (where.since_ns is None or score.scored_ns >= where.since_ns)
            and (where.until_ns is None or score.scored_ns <= where.until_ns)
            and (score.is_latest or not where.latest)
            and (before is None or _time_of(score) < before)
        ]
        return sorted(matches, key=_time_of, reverse=True)[:limit]

    def _scores(self, run: str | None = None) -> list[StoredScore]:
        """Returns the scores that programs recorded, of one run or of all."""
        runs = self._source.runs() if run is None else [run]
        projected = [item for item in map(self._projector.projection, runs) if item is not None]
        scores = [
            _score(item.row.run, event)
            for item in projected
            for event in item.events
            if isinstance(event, ScoreRecorded)
        ]
        latest = {(score.run, score.name, score.span): score.id for score in sorted(scores, key=_time_of)}
        return [replace(item, is_latest=latest[item.run, item.name, item.span] == item.id) for item in scores]

    # --- facts about many runs ----------------------------------------------------------------------------------------

    async def run_facts(
        self, project_id: int, where: RunFilter, score: str | None, *, limit: int
    ) -> Sequence[RunFacts]:
        rows = self._chosen(where, len(self._source.runs()))
        return self._facts([row for row in rows if row.fork_of is None][:limit], score)

    async def facts_of_runs(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        wanted = set(runs)
        rows = self._chosen(RunFilter(), len(self._source.runs()))
        return self._facts([row for row in rows if row.run in wanted and row.fork_of is None], score)

    def _facts(self, rows: Sequence[RunRow], name: str | None) -> list[RunFacts]:
        if name is None:
            return [RunFacts(row, None, None, indexed=False) for row in rows]
        scores = [score for score in self._scores() if score.is_latest and score.span is None and score.name == name]
        latest = {score.run: score for score in scores}
        return [RunFacts(row, *_columns(latest.get(row.run)), indexed=False) for row in rows]

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

    # --- the same context, and the same content -----------------------------------------------------------------------

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        return self._calls_with(thread.plain)[:limit]

    def _calls_with(self, thread: ContentRef) -> list[tuple[str, int]]:
        """Returns (run, seq) of model calls that had this thread as context, newest runs first."""
        calls = [(item.row, event) for item in self._projections() for event in _calls(item.events)]
        having = [(row, event.seq) for row, event in calls if event.thread is not None and event.thread.plain == thread]
        having.sort(key=lambda item: (item[0].started_ns, item[0].run, item[1]), reverse=True)
        return [(row.run, seq) for row, seq in having]

    async def runs_with_same_context(
        self, project_id: int, parts: Sequence[EventRange], *, without: Sequence[str], limit: int
    ) -> Sequence[SameContext]:
        last: dict[str, SameContext] = {}
        mine: dict[ContentRef, int] = {}
        for part in parts:
            projection = self._projector.projection(part.run)
            for event in _calls(projection.events if projection is not None else ()):
                if event.thread is not None and part.after < event.seq <= part.upto:
                    mine[event.thread.plain] = event.seq
        for thread, here in sorted(mine.items(), key=lambda item: item[1]):
            for run, seq in self._calls_with(thread)[:limit]:
                if run not in without:
                    last[run] = SameContext(here, run, seq)
        return sorted(last.values(), key=lambda item: (-item.here, item.run))[:limit]

    async def use_totals(self, project_id: int, ref: ContentRef) -> UseTotals:
        uses = self._uses(ref)
        times = sorted(use.started_ns for use in uses)
        calls = sum(use.calls for use in uses)
        return UseTotals(
            len(uses), calls, times[0] if times else None, times[-1] if times else None, uses, unread=False
        )

    async def uses(
        self, project_id: int, ref: ContentRef, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[ContentUse]:
        matches = self._uses(ref)
        return [use for use in matches if before is None or (use.started_ns, use.run) < before][:limit]

    def _uses(self, ref: ContentRef) -> list[ContentUse]:
        from playhead.projection.content_uses import call_threads, count_uses  # noqa: PLC0415 - rarely needed

        all_uses: list[ContentUse] = []
        for projection in self._projections():
            uses = count_uses(projection.events, self._source.nodes(call_threads(projection.events)))
            if ref.plain in uses:
                all_uses.append(ContentUse(projection.row.run, projection.row.started_ns, uses[ref.plain]))
        return sorted(all_uses, key=lambda use: (use.started_ns, use.run), reverse=True)


def _calls(events: Iterable[RunEvent]) -> Iterator[LlmCalled]:
    return (event for event in events if isinstance(event, LlmCalled))


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
        and where.fork_of in (None, row.fork_of)
        and where.trace in (None, *row.traces)
        and where.linked in (None, *row.linked)
        and (where.id_part or "") in row.run
        and (where.text or "").lower() in "\n".join(text.lower() for text in texts if text)
        and (where.since_ns is None or row.started_ns >= where.since_ns)
        and (where.until_ns is None or row.started_ns <= where.until_ns)
    )


def _score(run: str, event: ScoreRecorded) -> StoredScore:
    return StoredScore(
        run=run,
        id=event.id,
        name=event.name,
        value=event.value if isinstance(event.value, bool | str) else float(event.value),
        label=None if isinstance(event.value, str) else event.label,
        span=event.about,
        source=event.source,
        author=None,
        api_key=None,
        comment=event.comment,
        explanation=event.explanation,
        scored_ns=event.time_ns,
        is_latest=False,
    )


def _time_of(score: StoredScore) -> tuple[int, str, str]:
    return score.scored_ns, score.run, score.id


def _columns(score: StoredScore | None) -> tuple[float | None, str | None]:
    """Returns the number and the label of a score, as in `RunFacts`."""
    if score is None:
        return None, None
    return (None, score.value) if isinstance(score.value, str) else (float(score.value), score.label)


def _is_met(condition: ScoreCondition, score: StoredScore) -> bool:
    if not score.is_latest or score.span is not None or score.name != condition.name:
        return False
    number, label = _columns(score)
    value = condition.value
    if condition.comparison is None or value is None:
        return True
    if isinstance(value, str):
        return label == value
    return number is not None and _COMPARISONS[condition.comparison](number, value)
