"""[store] → analysis: facts about many runs at once, for questions across runs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from playhead.projection.run_row import RunRow
from playhead.projection.search_rows import ToolOutcome
from playhead_collector.store.ports.run_filter import RunFilter


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


class CohortStore(Protocol):
    """Reads facts about many runs in one query.  Forks are left out, because they repeat a part of another run."""

    async def run_facts(
        self, project_id: int, where: RunFilter, score: str | None, *, limit: int
    ) -> Sequence[RunFacts]:
        """Returns facts of runs that match the filter and are not forks, newest first."""
        ...

    async def facts_of_runs(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        """Returns facts of the given runs that are stored and are not forks, newest first."""
        ...

    async def tool_steps(self, project_id: int, runs: Sequence[str]) -> Sequence[ToolSteps]:
        """Returns the tool calls of the given runs that have any."""
        ...

    async def last_errors(self, project_id: int, runs: Sequence[str]) -> Sequence[LastError]:
        """Returns the last error of the given runs that have one."""
        ...
