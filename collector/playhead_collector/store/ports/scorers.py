"""The store's interface for scorers, and for the runs that wait to be scored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Protocol

from playhead.wire.operations.scorers import BackfillState, ScorerKind
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.scores import SCORER

JUDGE_AGENT: Final = "playhead.judge"
"""The agent of runs that judge others; no scorer scores them."""
_SHARES: Final = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerDefinition:
    """What decides the value of a scorer; a change of it makes a new version. `score`: the name of its scores."""

    kind: ScorerKind
    score: str
    rule: Mapping[str, Any] | None = None
    function: str | None = None
    prompt: str | None = None
    judge_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerSelection:
    """Which runs a scorer scores, and how many. `where`: conditions by name. Budgets None: no limit; `cost_per_day` in
    US dollars."""

    where: Mapping[str, str] = field(default_factory=dict[str, str])
    sample: float = 1.0
    runs_per_day: int | None = None
    tokens_per_day: int | None = None
    cost_per_day: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress:
    """A pass over stored runs, newest first. `before_started`, `before_run`: the last run that it came past."""

    state: BackfillState
    started_ns: int
    since_ns: int | None
    until_ns: int | None
    looked: int = 0
    queued: int = 0
    before_started: int | None = None
    before_run: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerRow:
    """A scorer of a project."""

    number: int
    project_id: int
    name: str
    version: int
    enabled: bool
    created_ns: int
    definition: ScorerDefinition
    selection: ScorerSelection
    backfill: BackfillProgress | None

    @property
    def author(self) -> str:
        """The author of its scores."""
        return f"{self.name} v{self.version}"

    def score_id(self, events: int, name: str | None = None) -> str:
        """Returns the id of its score for a run with so many events: the same for the same record, so that a run that
        is scored twice has one. `name`: of another score than the scorer's."""
        own = f"{SCORER}:{self.number}:{self.version}:{events}"
        return own if name is None else f"{own}:{sha256(name.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class DueScoring:
    """A run that waits for a scorer. `attempts`: how often it was begun, now included."""

    scorer: int
    project_id: int
    run: str
    attempts: int
    backfill: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringCounts:
    """What a scorer did; see `playhead.wire.operations.scorers.ScorerCounts`."""

    begun: int = 0
    scored: int = 0
    failed: int = 0
    not_sampled: int = 0
    over_budget: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class ScorerStatus:
    """How far a scorer has come. `failures`: run and reason of the last ones that were given up."""

    today: ScoringCounts
    total: ScoringCounts
    due: int
    failures: Sequence[tuple[str, str]]


def is_sampled(run: str, scorer: str, share: float) -> bool:
    """Returns whether a run is in a scorer's sample: always the same for the same run and name, and in every larger
    share, too. Pure."""
    digest = sha256(f"{scorer}/{run}".encode()).digest()
    return (int.from_bytes(digest[:8]) >> 11) / _SHARES < share


class ScorerStore(Protocol):
    """Stores scorers. All methods raise StoreUnavailable. Times are ns since 1970; days are UTC."""

    async def of_project(self, project_id: int) -> Sequence[ScorerRow]:
        """Returns the scorers of a project, by name."""
        ...

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
        """Makes or changes a scorer. `where`: the conditions of the selection."""
        ...

    async def delete(self, project_id: int, name: str) -> bool:
        """Deletes a scorer, with what waits for it; returns False when there is none."""
        ...

    async def begin_backfill(self, scorer: ScorerRow, progress: BackfillProgress) -> None:
        """Begins a pass over stored runs, in place of the last one."""
        ...

    async def stop_backfill(self, scorer: ScorerRow) -> None:
        """Stops the pass, and drops what it has queued."""
        ...

    async def status(self, scorer: ScorerRow, now_ns: int, failures: int) -> ScorerStatus:
        """Returns how far a scorer has come."""
        ...

    async def in_use(self) -> Sequence[ScorerRow]:
        """Returns the scorers of all projects that are switched on."""
        ...

    async def note_arrived(self, limit: int, now_ns: int) -> ScoringCounts | None:
        """Queues runs that were sealed for the scorers that want them; None: there were none. Only `not_sampled` is
        counted in the answer."""
        ...

    async def backfill_some(self, limit: int, most_waiting: int, now_ns: int) -> bool:
        """Goes on with a pass over stored runs that has fewer than `most_waiting` waiting; False: there is none."""
        ...

    async def take(self, project_id: int, limit: int, now_ns: int, lease_until_ns: int) -> Sequence[DueScoring]:
        """Takes runs that are due, those that have just ended first. Until the lease ends, nobody else gets them."""
        ...

    async def begin(self, scorer: ScorerRow, now_ns: int) -> bool:
        """Counts a run against the budget of the day; returns False when that is used up."""
        ...

    async def finish(self, due: DueScoring, events: int, counts: ScoringCounts, now_ns: int) -> None:
        """Removes a run that was scored, unless it has another number of events by now: then it is due again."""
        ...

    async def drop(self, due: DueScoring, counts: ScoringCounts, now_ns: int) -> None:
        """Removes a run that is not to be scored."""
        ...

    async def fail(self, due: DueScoring, error: str, counts: ScoringCounts, now_ns: int, retry_ns: int | None) -> None:
        """Notes why a run could not be scored, and when to try again; None: it is given up."""
        ...

    async def postpone(self, due: DueScoring, due_ns: int) -> None:
        """Gives a run back, as if it had not been taken, until then."""
        ...
