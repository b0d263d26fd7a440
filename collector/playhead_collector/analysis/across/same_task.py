"""[analysis]: finds succeeded runs of the same task.

`task` says what runs of one task have in common: `input`, `name`, `session`, `user`, or `tag:` and the beginning of a
tag.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from playhead.model.event import RunEvent, RunStarted
from playhead.model.state import COMPLETED
from playhead.projection.run_row import RunRow
from playhead_collector.analysis.across.cohort import outcome_text, succeeded
from playhead_collector.read.record import BLOCK, RunRecord
from playhead_collector.store.ports.outcomes import SUCCESS_FROM
from playhead_collector.store.ports.runs import RunFacts, RunFilter
from playhead_collector.store.ports.scores import ScoreCondition

INPUT: Final = "input"
TAG: Final = "tag:"
TASK_TAG: Final = "tag:task:"
"""Default of `task` for runs with a tag that begins with `task:`."""
MAX_SIBLINGS: Final = 5
_BY_FIELD: Final = ("name", "session", "user")
_LONGEST_TASK: Final = 200
# Agents change: what a run did a quarter of a year before or after says little about this one.
_WINDOW_NS: Final = 90 * 24 * 3600 * 10**9
# Newest runs of a task that are examined. Of each one that succeeded, at most the first block of events is read.
_MOST_CANDIDATES: Final = 100


@dataclass(frozen=True, slots=True)
class SameTaskRuns:
    """Succeeded runs of the same task, newest first.

    `task`: what they have in common; None if this run has no task. `outcome`: what decides success: `status`, or a
    condition for a score. `more`: not all runs of the task were examined.
    """

    task: str | None
    outcome: str
    runs: Sequence[RunRecord]
    more: bool


def task_of(row: RunRow, by: str, started: RunStarted | None) -> str | None:
    """Returns the task of a run; None if it has none. `started` is needed only if `by` is `input`."""
    if by == INPUT:
        return str(started.input) if started is not None and started.input is not None else None
    if by in _BY_FIELD:
        return getattr(row, by)
    tag = _tag(row, by)
    return None if tag is None else tag[:_LONGEST_TASK]


def beginning_of(events: Iterable[RunEvent]) -> RunStarted | None:
    """The event with which a run began, or None."""
    return next((event for event in events if isinstance(event, RunStarted)), None)


async def read_succeeded_runs(
    record: RunRecord, *, task: str | None = None, outcome: Mapping[str, Any] | None = None
) -> SameTaskRuns:
    """Returns at most five succeeded runs of this run's task.

    `task` None: the tag that begins with `task:` or, if the run has no such tag, its input. `outcome`: the fields of a
    `ScoreCondition`; None: the score by which this run failed (see `ports.outcomes`) or, if there is none, the status.
    """
    started = beginning_of(await record.events(limit=BLOCK))
    by = task or (TASK_TAG if _tag(record.row, TASK_TAG) is not None else INPUT)
    wanted = task_of(record.row, by, started)
    if wanted is None:
        return SameTaskRuns(None, outcome_text(None), (), more=False)
    condition = _failed_by(record) if outcome is None else ScoreCondition(**outcome)
    candidates, more = await _candidates(record, by, started, condition)
    chosen: list[RunRecord] = []
    for facts in candidates:
        if len(chosen) == MAX_SIBLINGS:
            break
        other = RunRecord(record.store, record.project_id, facts.row)
        if not _may_be_sibling(record, facts) or not succeeded(facts, condition):
            continue
        begun = beginning_of(await other.events(limit=BLOCK)) if by == INPUT else None
        if task_of(facts.row, by, begun) == wanted:
            chosen.append(other)
    return SameTaskRuns(by, outcome_text(condition), chosen, more)


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Runs of a task, with the run itself, newest first: at most 100. `task`: what they have in common."""

    task: str
    runs: Sequence[RunFacts]


async def read_task(record: RunRecord, score: str | None) -> TaskFacts | None:
    """Returns the runs of a run's task with the latest score of this name, by indexes only; None if it has no task.

    Of a run without a tag `task:...`, runs of the same name that had its input count.
    """
    tag = _tag(record.row, TASK_TAG)
    by = INPUT if tag is None else TASK_TAG
    started = beginning_of(await record.events(limit=BLOCK)) if tag is None else None
    if task_of(record.row, by, started) is None:
        return None
    facts, _ = await _candidates(record, by, started, ScoreCondition(score or ""))  # of any status
    if tag is None:
        facts = [each for each in facts if each.row.name == record.row.name]
    return TaskFacts(INPUT if tag is None else f"{TAG}{tag}", facts)


def _may_be_sibling(record: RunRecord, facts: RunFacts) -> bool:
    row = facts.row
    near = abs(row.started_ns - record.row.started_ns) <= _WINDOW_NS
    return near and row.run != record.run and row.ended_ns is not None


async def _candidates(
    record: RunRecord, by: str, started: RunStarted | None, outcome: ScoreCondition | None
) -> tuple[Sequence[RunFacts], bool]:
    """Returns runs that may be of the task, newest first, and whether there are more. Uses indexes only."""
    store, project_id, score = record.store, record.project_id, None if outcome is None else outcome.name
    if by == INPUT and started is not None and started.input is not None:
        totals = await store.uses.totals(project_id, started.input)
        indexed = await store.uses.page(project_id, started.input, limit=_MOST_CANDIDATES + 1)
        runs = list(dict.fromkeys(use.run for use in (*totals.recent, *indexed[:_MOST_CANDIDATES])))
        facts = await store.runs.facts_of(project_id, runs, score)
        return facts, totals.unread or len(indexed) > _MOST_CANDIDATES
    where: dict[str, Any] = {"tag": _tag(record.row, by)} if by.startswith(TAG) else {by: getattr(record.row, by)}
    began = record.row.started_ns
    runs_like = RunFilter(
        **where,
        status=COMPLETED if outcome is None else None,
        since_ns=began - _WINDOW_NS,
        until_ns=began + _WINDOW_NS,
    )
    facts = await store.runs.facts(project_id, runs_like, score, limit=_MOST_CANDIDATES + 1)
    return facts[:_MOST_CANDIDATES], len(facts) > _MOST_CANDIDATES


def _failed_by(record: RunRecord) -> ScoreCondition | None:
    """Condition for the score that decides that the run has failed; None if none does."""
    facts = record.row.facts
    if facts.score_name is None or facts.score is None or facts.score >= SUCCESS_FROM:
        return None
    return ScoreCondition(facts.score_name)


def _tag(row: RunRow, by: str) -> str | None:
    wanted = by.removeprefix(TAG)
    return next((tag for tag in row.tags if tag.startswith(wanted)), None)
