"""What came of a run: the rule, what decides it, and the store's interface for what is found out about runs later."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from playhead.model.state import CANCELLED, FAILED, LOST, RUNNING
from playhead.projection.happened import LastMoment
from playhead.projection.run_row import FirstSuspect, RunRow
from playhead.wire.operations.verdict import OutcomeWord
from playhead.wire.operations.why import Strength
from playhead_collector.store.ports.scores import SCORER, StoredScore

SUCCESS_FROM: Final = 0.5
"""The least score of a run that has succeeded; a boolean counts as 1 or 0."""
CONDITION: Final = f"score>={SUCCESS_FROM}"
"""When a run has succeeded, where no score is named: its newest score as a whole that is a number or a boolean."""
LEVELS: Final[Mapping[Strength, int]] = MappingProxyType({"weak": 1, "likely": 2, "strong": 3})
_ATTENTION: Final[Mapping[OutcomeWord, int]] = MappingProxyType(
    {"waiting": 90, "crashed": 80, "lost": 80, "failed": 70, "running": 60}
)


def deciding_score(scores: Iterable[StoredScore]) -> StoredScore | None:
    """Returns the newest score of the run as a whole that is a number or a boolean; None if there is none. What scorers
    say counts only where neither the program nor a person has said something."""
    deciding = [score for score in scores if score.span is None and not isinstance(score.value, str)]
    return max(deciding, key=lambda score: (score.source != SCORER, score.scored_ns, score.id), default=None)


def outcome_word(status: str, score: float | None, *, waiting: bool) -> OutcomeWord:
    """Returns what came of a run. `score`: the deciding one; None: there is none.

    The column `run_outcome.outcome` is the same in SQL; a test compares them.
    """
    if status == FAILED:
        return "crashed"
    if status == RUNNING:
        return "waiting" if waiting else "running"
    if score is not None:
        return "succeeded" if score >= SUCCESS_FROM else "failed"
    if status == CANCELLED:
        return "cancelled"
    return "lost" if status == LOST else "unknown"


def outcome_of_row(row: RunRow) -> OutcomeWord:
    """Returns what came of a run."""
    return outcome_word(row.status, row.facts.score, waiting=row.facts.waiting)


def has_gone_wrong(word: OutcomeWord) -> bool:
    """Returns whether the steps of runs with this outcome are suspected."""
    return word in ("failed", "crashed")


def suspect_level(row: RunRow) -> int:
    """Returns how strong the first suspect of a failed run is: 1 to 3; 0 for none, and for other runs."""
    suspect = row.facts.suspect
    return LEVELS[suspect.strength] if suspect is not None and has_gone_wrong(outcome_of_row(row)) else 0


def attention(row: RunRow) -> int:
    """Returns how much a run needs a person: more for what waits, then for what crashed or is lost, for what failed (by
    its first suspect), and for what runs; 0 for others."""
    word = outcome_of_row(row)
    return _ATTENTION.get(word, 0) + (suspect_level(row) if word == "failed" else 0)


@dataclass(frozen=True, slots=True)
class OverviewCell:
    """Runs that began within a step of time and have one outcome. Times are ns since 1970.

    `start_ns`: the beginning of the step, which takes `step_ns`. `scored`: runs that have ended and have a deciding
    score. `cost` is that of `priced` runs. `first_ns` and `last_ns`: the first and the last start.
    """

    start_ns: int
    step_ns: int
    word: OutcomeWord
    runs: int
    scored: int
    cost: float
    priced: int
    input_tokens: int
    output_tokens: int
    first_ns: int
    last_ns: int


# Steps of the histogram in seconds, from the finest to the coarsest.
STEPS_S: Final = (
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400, 172_800, 604_800, 2_592_000,
    7_776_000, 31_536_000, 315_360_000, 3_153_600_000,
)  # fmt: skip


def step_ns(first_ns: int, last_ns: int, most: int) -> int:
    """Returns the finest step in ns of which at most `most` hold both times. Steps begin at multiples of themselves."""
    for step_s in STEPS_S:
        step = step_s * 10**9
        if last_ns // step - first_ns // step < most:
            return step
    return STEPS_S[-1] * 10**9


class FailedRun(NamedTuple):
    """A failed run whose suspects are looked for. `projection`: the number of the projection that is stored."""

    project_id: int
    run: str
    projection: int


class UndescribedRun(NamedTuple):
    """A run of which it is not stored what happened: an older version of Playhead projected it."""

    project_id: int
    run: str
    projection: int


class OutcomeStore(Protocol):
    """Stores what is found out about runs in the background.  Values that belong to an earlier projection of their run
    are dropped: the run is due again."""

    async def failed_runs(self, limit: int) -> Sequence[FailedRun]:
        """Returns ended, projected runs that have failed and whose suspects are to be looked for, newest first."""
        ...

    async def write_suspect(self, run: FailedRun, suspect: FirstSuspect | None, looked_ns: int) -> None:
        """Stores the first suspect; None: there is none. `looked_ns`: when it was looked for."""
        ...

    async def undescribed_runs(self, limit: int) -> Sequence[UndescribedRun]:
        """Returns runs of which it is not stored what happened, newest first."""
        ...

    async def write_moment(self, run: UndescribedRun, moment: LastMoment | None) -> None:
        """Stores what happened in a run."""
        ...

    async def unpriced_runs(self, table: int, limit: int) -> Sequence[tuple[int, RunRow]]:
        """Returns (project, run) of runs whose cost was not computed with the table of prices of this number."""
        ...

    async def write_costs(self, project_id: int, table: int, costs: Mapping[str, float | None]) -> None:
        """Stores costs by the ids of their runs, and with which table of prices they were computed."""
        ...
