"""The store's interface for the summaries of runs, and for facts about many runs at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from playhead.projection.run_row import RunRow
from playhead.projection.search_rows import ToolOutcome
from playhead.wire.operations.runs import SortName
from playhead.wire.operations.verdict import OutcomeWord
from playhead.wire.operations.why import Strength
from playhead_collector.store.ports.outcomes import OverviewCell, attention
from playhead_collector.store.ports.scores import ScoreCondition


@dataclass(frozen=True, slots=True)
class RunFilter:
    """All conditions must hold; None means any.

    `text` is searched in name, session, user, agents and tags; `id_part` (lower-case hex digits) in the run's id.
    `with_error`: whether something in the run has failed. `trace`: the run has spans of this trace. `linked`: the run
    names this run by a link without being part of it. `outcomes`: one of these; empty: any. `suspect`: the first
    suspect is at least so strong. `cost_above`: it cost more.
    """

    agent: str | None = None
    status: str | None = None
    session: str | None = None
    user: str | None = None
    tag: str | None = None
    model: str | None = None
    tool: str | None = None
    with_error: bool | None = None
    fork_of: str | None = None
    trace: str | None = None
    linked: str | None = None
    text: str | None = None
    id_part: str | None = None
    score: ScoreCondition | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    outcomes: tuple[OutcomeWord, ...] = ()
    suspect: Strength | None = None
    cost_above: float | None = None

    @property
    def needs_outcome(self) -> bool:
        """Whether a condition is about what came of the run, or what it cost."""
        return bool(self.outcomes) or self.suspect is not None or self.cost_above is not None


_LAST = float("-inf")


@dataclass(frozen=True, slots=True)
class RunOrder:
    """The order of a list of runs: by `sort`, the greatest first, or the least first if `ascending`. Among equals, the
    newest come first; runs without the value come last."""

    sort: SortName = "started"
    ascending: bool = False

    def key(self, row: RunRow) -> float:
        """Returns the number by which a run is sorted, the greatest first."""
        value = self._value(row)
        return _LAST if value is None else -value if self.ascending else value

    def _value(self, row: RunRow) -> float | None:
        match self.sort:
            case "attention":
                return float(attention(row))
            case "started":
                return float(row.started_ns) if self.ascending else 0.0
            case "elapsed":
                return None if row.ended_ns is None else float(max(0, row.ended_ns - row.started_ns))
            case "turns":
                return float(row.llm_calls)
            case "tool_calls":
                return float(row.tool_calls)
            case "input_tokens":
                return float(row.input_tokens)
            case "cost":
                return row.facts.cost
            case "errors":
                return float(row.errors)
            case "score":
                return None if row.facts.score is None else float(row.facts.score)


NEWEST_FIRST = RunOrder()


class RunPosition(NamedTuple):
    """The place of a run in a list: that list goes on behind it. `key`: see `RunOrder.key`."""

    started_ns: int
    run: str
    key: float = 0.0


class OpenQuestion(NamedTuple):
    """A question for which a run waits. `text`: what is asked; `about`: the tool or the event."""

    promise: str
    text: str
    about: str | None


class RunFacts(NamedTuple):
    """A run's summary, and the latest score of the whole run with the requested name.

    The score is a number (1 or 0 for a boolean), a label, or both; both None: there is no such score. `indexed`:
    whether the results of its tool calls were read.
    """

    row: RunRow
    score_number: float | None
    score_label: str | None
    indexed: bool


class ToolSteps(NamedTuple):
    """The tool calls of a run in the order of their start.  `tools`: numbers of tool names
    (`search_rows.number_of`)."""

    run: str
    tools: Sequence[int]
    outcomes: Sequence[ToolOutcome]
    seqs: Sequence[int]


class LastError(NamedTuple):
    """The last error of a run: the seq of its event, the number of its type, and the number of the name of what
    failed."""

    run: str
    seq: int
    error_type: int | None
    about: int | None


class RunReader(Protocol):
    """Reads the summaries of projected runs, one by one or by a filter.

    The methods for facts, steps and errors read many runs in one query. Facts leave out forks, because these repeat a
    part of another run.
    """

    async def get(self, project_id: int, run: str) -> RunRow | None:
        """Returns the summary of a run; None when there is no such run."""
        ...

    async def page(
        self,
        project_id: int,
        where: RunFilter,
        *,
        limit: int,
        before: RunPosition | None = None,
        order: RunOrder = NEWEST_FIRST,
    ) -> Sequence[RunRow]:
        """Returns the summaries of runs that match the filter, in this order. `before`: the position of the last row of
        the previous page."""
        ...

    async def overview(self, project_id: int, where: RunFilter, steps: int) -> Sequence[OverviewCell]:
        """Returns how many runs match the filter, by the time of their start (in at most `steps` steps) and by their
        outcome."""
        ...

    async def questions(self, project_id: int, runs: Sequence[str]) -> Mapping[str, OpenQuestion]:
        """Returns the oldest open promise of those of the runs that have one. The journal has no promises."""
        ...

    async def facts(self, project_id: int, where: RunFilter, score: str | None, *, limit: int) -> Sequence[RunFacts]:
        """Returns facts of runs that match the filter and are not forks, newest first."""
        ...

    async def facts_of(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        """Returns facts of the given runs that are stored and are not forks, newest first."""
        ...

    async def tool_steps(self, project_id: int, runs: Sequence[str]) -> Sequence[ToolSteps]:
        """Returns the tool calls of the given runs that have any."""
        ...

    async def last_errors(self, project_id: int, runs: Sequence[str]) -> Sequence[LastError]:
        """Returns the last error of the given runs that have one."""
        ...
