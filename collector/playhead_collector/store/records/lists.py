"""[store]: lists of recorded runs, and facts about many of them."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from playhead.model.event import LlmCalled, RunEvent, ScoreRecorded
from playhead.model.ref import ContentRef
from playhead.model.state import LOST, RUNNING, fold
from playhead.project.run_row import RunRow
from playhead_collector.store.ports import RunFilter
from playhead_collector.store.ports.cohorts import LastError, RunFacts, ToolSteps
from playhead_collector.store.ports.same_context import EventRange, SameContext
from playhead_collector.store.ports.scores import Comparison, ScoreCondition, ScoreFilter, StoredScore
from playhead_collector.store.ports.uses import ContentUse, UseTotals
from playhead_collector.store.records.ports import RecordSource, RunProjection
from playhead_collector.store.records.projecting import RecordProjector

if TYPE_CHECKING:
    from playhead.project.search_rows import SearchRows

_COMPARISONS: Mapping[Comparison, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


class RecordLists:
    """The methods of `RecordStore` that look at many runs: each projects those that have news.

    No run is indexed, so that results of tools count as results, whatever they say.
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
        forks = sum(each is not None and each.row.fork_of == run for each in named)
        row = self._with_status(projection)
        return replace(row, parent_missing=self._is_parent_missing(row), forks=forks)

    async def runs(
        self, project_id: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        return self._chosen(where, limit, before)

    def _chosen(self, where: RunFilter, limit: int, before: tuple[int, str] | None = None) -> list[RunRow]:
        """Newest first."""
        rows = [self._with_status(projection) for projection in self._projections()]
        forks: dict[str | None, int] = {}
        for row in rows:
            forks[row.fork_of] = forks.get(row.fork_of, 0) + 1
        found = [row for row in rows if _matches(row, where)]
        if before is not None:
            found = [row for row in found if _order(row) < before]
        if (wanted := where.score) is not None:
            scored = {score.run for score in self._scores() if _is_met(wanted, score)}
            found = [row for row in found if row.run in scored]
        found = sorted(found, key=_order, reverse=True)[:limit]
        return [replace(row, forks=forks.get(row.run, 0), parent_missing=self._is_parent_missing(row)) for row in found]

    def _with_status(self, projection: RunProjection) -> RunRow:
        """The row of a run, with the status `lost` where its processes are gone and it waits for nobody's answer."""
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
        found = [
            score
            for score in self._scores(where.run)
            if where.name in (None, score.name)
            and where.source in (None, score.source)
            and (where.since_ns is None or score.scored_ns >= where.since_ns)
            and (where.until_ns is None or score.scored_ns <= where.until_ns)
            and (score.is_latest or not where.latest)
            and (before is None or _time_of(score) < before)
        ]
        return sorted(found, key=_time_of, reverse=True)[:limit]

    def _scores(self, run: str | None = None) -> list[StoredScore]:
        """The scores that programs recorded, oldest first."""
        runs = self._source.runs() if run is None else [run]
        projected = [each for each in map(self._projector.projection, runs) if each is not None]
        found = [
            _score(each.row.run, event)
            for each in projected
            for event in each.events
            if isinstance(event, ScoreRecorded)
        ]
        latest = {(score.run, score.name, score.span): score.id for score in sorted(found, key=_time_of)}
        return [replace(each, is_latest=latest[each.run, each.name, each.span] == each.id) for each in found]

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
        scores = [each for each in self._scores() if each.is_latest and each.span is None and each.name == name]
        latest = {each.run: each for each in scores}
        return [RunFacts(row, *_columns(latest.get(row.run)), indexed=False) for row in rows]

    async def tool_steps(self, project_id: int, runs: Sequence[str]) -> Sequence[ToolSteps]:
        found = ((run, rows.tool_calls) for run, rows in self._search_rows(runs) if rows.tool_calls)
        return [
            ToolSteps(
                run, [each.tool for each in calls], [each.outcome for each in calls], [each.seq for each in calls]
            )
            for run, calls in found
        ]

    async def last_errors(self, project_id: int, runs: Sequence[str]) -> Sequence[LastError]:
        found = ((run, rows.errors[-1]) for run, rows in self._search_rows(runs) if rows.errors)
        return [LastError(run, error.seq, error.error_type, error.about) for run, error in found]

    def _search_rows(self, runs: Iterable[str]) -> "Iterator[tuple[str, SearchRows]]":
        from playhead.project.search_rows import search_rows  # noqa: PLC0415 - few questions need it

        for run in runs:
            if (projection := self._projector.projection(run)) is not None:
                yield run, search_rows(projection.events)

    # --- the same context, and the same content -----------------------------------------------------------------------

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        return self._calls_with(thread.plain)[:limit]

    def _calls_with(self, thread: ContentRef) -> list[tuple[str, int]]:
        """Newest runs first."""
        found = [(each.row, event) for each in self._projections() for event in _calls(each.events)]
        having = [(row, event.seq) for row, event in found if event.thread is not None and event.thread.plain == thread]
        having.sort(key=lambda each: (each[0].started_ns, each[0].run, each[1]), reverse=True)
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
        for thread, here in sorted(mine.items(), key=lambda each: each[1]):
            for run, seq in self._calls_with(thread)[:limit]:
                if run not in without:
                    last[run] = SameContext(here, run, seq)
        return sorted(last.values(), key=lambda each: (-each.here, each.run))[:limit]

    async def use_totals(self, project_id: int, ref: ContentRef) -> UseTotals:
        found = self._uses(ref)
        times = sorted(each.started_ns for each in found)
        calls = sum(each.calls for each in found)
        return UseTotals(
            len(found), calls, times[0] if times else None, times[-1] if times else None, found, unread=False
        )

    async def uses(
        self, project_id: int, ref: ContentRef, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[ContentUse]:
        found = self._uses(ref)
        return [each for each in found if before is None or (each.started_ns, each.run) < before][:limit]

    def _uses(self, ref: ContentRef) -> list[ContentUse]:
        from playhead.project.context.content_uses import call_threads, count_uses  # noqa: PLC0415 - as above

        found: list[ContentUse] = []
        for each in self._projections():
            uses = count_uses(each.events, self._source.nodes(call_threads(each.events)))
            if ref.plain in uses:
                found.append(ContentUse(each.row.run, each.row.started_ns, uses[ref.plain]))
        return sorted(found, key=lambda use: (use.started_ns, use.run), reverse=True)


def _calls(events: Iterable[RunEvent]) -> Iterator[LlmCalled]:
    return (event for event in events if isinstance(event, LlmCalled))


def _order(row: RunRow) -> tuple[int, str]:
    return row.started_ns, row.run


def _matches(row: RunRow, where: RunFilter) -> bool:
    """Whether all conditions but the one for a score hold."""
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
    """The number and the label of a score, as `RunFacts` has them."""
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
