"""The tool calls of runs, by name, with their results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from playhead.projection.search_rows import ToolOutcome, number_of
from playhead_collector.analysis.across.cohort import Member
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.cohorts import ToolSteps

BEGIN: Final = "(begin)"
END: Final = "(end)"
_UNKNOWN: Final = "(unknown)"
_RESULTS: Final = {outcome: outcome.name.lower() for outcome in ToolOutcome}
FAILED: Final = _RESULTS[ToolOutcome.FAILED]
RETURNED_ERROR: Final = _RESULTS[ToolOutcome.RETURNED_ERROR]


class ToolStep(NamedTuple):
    """A tool call: the tool's name, its result (`completed`, `returned_error`, `failed`, `cancelled`, `open`), and the
    seq of its start."""

    tool: str
    result: str
    seq: int


class ToolPath(NamedTuple):
    """A run and its tool calls in the order of their start."""

    member: Member
    steps: Sequence[ToolStep]


async def read_steps(store: ReadStore, project_id: int, members: Sequence[Member]) -> list[ToolPath]:
    """The tool calls of these runs, in their order."""
    steps_by_run = {
        steps.run: steps for steps in await store.tool_steps(project_id, [member.run for member in members])
    }
    return steps_of(members, steps_by_run)


def steps_of(members: Iterable[Member], steps_by_run: Mapping[str, ToolSteps]) -> list[ToolPath]:
    """Returns the tool calls with the names of tools: resolves their numbers with the rows of the runs.  Pure."""
    names: dict[int | None, str] = {}
    walks: list[ToolPath] = []
    for member in members:
        steps = steps_by_run.get(member.run)
        if steps is None:
            walks.append(ToolPath(member, ()))
            continue
        for tool in member.row.tools:
            if tool not in names.values():
                names[number_of(tool)] = tool
        calls = zip(steps.tools, steps.outcomes, steps.seqs, strict=True)
        named = [ToolStep(names.get(tool, _UNKNOWN), _RESULTS[how], seq) for tool, how, seq in calls]
        walks.append(ToolPath(member, named))
    return walks
