"""[store] → analysis: facts about many runs at once, for questions across runs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from playhead.project.run_row import RunRow
from playhead.project.search_rows import ToolOutcome
from playhead_collector.store.ports.run_filter import RunFilter


class RunFacts(NamedTuple):
    """A run's summary, and the latest score of the whole run with the name that was asked for: a number (of a boolean 1
    or 0), a label, or both; both None: there is none. `indexed`: whether the results of its tool calls were read."""

    row: RunRow
    score_number: float | None
    score_label: str | None
    indexed: bool


class ToolSteps(NamedTuple):
    """The tool calls of a run in the order of their start.  `tools` are numbers of names (`search_rows.number_of`)."""

    run: str
    tools: Sequence[int]
    outcomes: Sequence[ToolOutcome]
    seqs: Sequence[int]


class LastError(NamedTuple):
    """The last error of a run: the numbers of its type and of what failed, and the seq of its event."""

    run: str
    seq: int
    error_type: int | None
    about: int | None


class CohortStore(Protocol):
    """Reads facts about many runs in one query each.  Forks are left out: they repeat a part of another run."""

    async def run_facts(
        self, project_id: int, where: RunFilter, score: str | None, *, limit: int
    ) -> Sequence[RunFacts]:
        """Runs that are no forks, newest first."""
        ...

    async def facts_of_runs(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        """Those of these runs that are stored and are no forks, newest first."""
        ...

    async def tool_steps(self, project_id: int, runs: Sequence[str]) -> Sequence[ToolSteps]:
        """The tool calls of those of these runs that have any."""
        ...

    async def last_errors(self, project_id: int, runs: Sequence[str]) -> Sequence[LastError]:
        """The last error of those of these runs that have one."""
        ...
