"""[analysis]: the runs that a question is about, and which of them succeeded.

Only runs that have ended are compared. A run succeeded by its status, or by one of its scores. Shares of runs are given
with their 95 % Wilson interval, because the runs of a question are often few.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from playhead.model.state import COMPLETED, FAILED
from playhead.projection.run_row import RunRow
from playhead.wire.operations.across import Population, SuccessRate
from playhead_collector.read.outcomes import rate_of
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.outcomes import SUCCESS_FROM
from playhead_collector.store.ports.runs import RunFacts, RunFilter
from playhead_collector.store.ports.scores import ScoreCondition


@dataclass(frozen=True, slots=True)
class Member:
    """A run that has ended, and whether it succeeded; None: not known."""

    row: RunRow
    succeeded: bool | None

    @property
    def run(self) -> str:
        """The run's id."""
        return self.row.run


@dataclass(frozen=True, slots=True)
class Cohort:
    """The runs that a question is about (only ended ones, newest first), and how they were selected."""

    members: Sequence[Member]
    population: Population


async def read_cohort(
    store: ReadStore, project_id: int, where: RunFilter, outcome: ScoreCondition | None, limit: int
) -> Cohort:
    """Reads the newest runs that meet the conditions, at most `limit`. `outcome`: when a run has succeeded (None: when
    it completed)."""
    runs = await store.runs.facts(project_id, where, outcome.name if outcome else None, limit=limit + 1)
    return cohort_of(runs[:limit], outcome, more=len(runs) > limit)


def cohort_of(runs: Sequence[RunFacts], outcome: ScoreCondition | None, *, more: bool) -> Cohort:
    """Builds the cohort of these runs. `more`: further runs meet the conditions.  Pure."""
    members = [Member(facts.row, succeeded(facts, outcome)) for facts in runs if facts.row.ended_ns is not None]
    outcomes = [member.succeeded for member in members if member.succeeded is not None]
    population: Population = {
        "runs": len(members),
        "succeeded": sum(outcomes),
        "failed": len(outcomes) - sum(outcomes),
        "without_outcome": len(members) - len(outcomes),
        "unfinished": len(runs) - len(members),
        "unindexed": sum(not facts.indexed for facts in runs if facts.row.ended_ns is not None),
        "more": more,
        "outcome": outcome_text(outcome),
    }
    return Cohort(members, population)


def succeeded(facts: RunFacts, outcome: ScoreCondition | None) -> bool | None:
    """Whether the run succeeded, by its score or (`outcome` None) by its status; None if that is not known."""
    if outcome is None:
        return {COMPLETED: True, FAILED: False}.get(facts.row.status)
    number, wanted = facts.score_number, outcome.value
    if isinstance(wanted, str):
        return None if facts.score_label is None else facts.score_label == wanted
    if number is None:
        return None
    if wanted is None:
        return number >= SUCCESS_FROM
    match outcome.comparison:
        case ">=":
            return number >= wanted
        case "<=":
            return number <= wanted
        case ">":
            return number > wanted
        case "<":
            return number < wanted
        case _:
            return number == wanted


def outcome_text(outcome: ScoreCondition | None) -> str:
    """What decides whether a run succeeded, as text: `status`, or the condition for its score."""
    if outcome is None:
        return "status"
    if outcome.comparison is None:
        return f"{outcome.name}>={SUCCESS_FROM}"
    value = outcome.value
    return f"{outcome.name}{outcome.comparison}{value:g}" if isinstance(value, float) else f"{outcome.name}={value}"


# --- shares of runs --------------------------------------------------------------------------------------------------

MIN_RUNS: Final = 5
"""Least number of runs for a pattern."""


def success_rate(outcomes: Iterable[bool | None]) -> SuccessRate:
    """Counts the runs that succeeded and failed, with the share of success. None (no outcome) is not counted."""
    known_outcomes = [outcome for outcome in outcomes if outcome is not None]
    successes = sum(known_outcomes)
    return rate_of(successes, len(known_outcomes) - successes)
