"""[analysis]: the tool calls of runs in their order: which tool follows which, and what is chosen after which result?

A transition is a pair of tools, one called after the other. A pattern is a choice after the result of a tool call, with
the outcomes of the runs that made it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from playhead.projection.search_rows import ToolOutcome, number_of
from playhead.wire.operations.across import DecisionPattern, DecisionPatterns, RunMoment, Transition, TransitionGraph
from playhead_collector.analysis.across.cohort import MIN_RUNS, Cohort, Member, success_rate
from playhead_collector.analysis.across.contexts import CallContext, had_text
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.runs import ToolSteps

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
        steps.run: steps for steps in await store.runs.tool_steps(project_id, [member.run for member in members])
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


# --- transitions -----------------------------------------------------------------------------------------------------

EVIDENCE: Final = 3


@dataclass(slots=True)
class Occurrences:
    """How often something happened, whether its runs succeeded (by run), and its first moment in some of them."""

    times: int = 0
    runs: dict[str, bool | None] = field(default_factory=dict[str, bool | None])
    first: list[RunMoment] = field(default_factory=list[RunMoment])

    def add(self, walk: ToolPath, seq: int) -> None:
        """Counts one more occurrence, at the event `seq` of this run."""
        self.times += 1
        if walk.member.run not in self.runs:
            self.runs[walk.member.run] = walk.member.succeeded
            if len(self.first) < EVIDENCE:
                self.first.append({"run": walk.member.run, "seq": seq})


def transitions_of(cohort: Cohort, walks: Sequence[ToolPath]) -> TransitionGraph:
    """The transitions of these runs.  Pure."""
    occurrences: dict[tuple[str, str], Occurrences] = {}
    departures = Counter[str]()
    for walk in walks:
        for source, to, seq in _moves(walk):
            occurrences.setdefault((source, to), Occurrences()).add(walk, seq)
            departures[source] += 1
    transitions = [_transition(source, to, entry, departures[source]) for (source, to), entry in occurrences.items()]
    transitions.sort(key=lambda entry: (-entry["times"], entry["source"], entry["to"]))
    return {"population": cohort.population, "transitions": transitions}


def _moves(walk: ToolPath) -> Iterator[tuple[str, str, int]]:
    source, seq = BEGIN, 1
    for step in walk.steps:
        yield source, step.tool, step.seq
        source, seq = step.tool, step.seq
    yield source, END, seq


def _transition(source: str, to: str, occurrences: Occurrences, departures: int) -> Transition:
    return {
        "source": source,
        "to": to,
        "times": occurrences.times,
        "runs": len(occurrences.runs),
        "share": round(occurrences.times / departures, 6),
        "success": success_rate(occurrences.runs.values()),
        "evidence": occurrences.first,
    }


# --- patterns --------------------------------------------------------------------------------------------------------


class LastToolResult(NamedTuple):
    """The last tool call before a choice, and its result; `BEGIN` and None at the beginning of a run."""

    tool: str
    result: str | None


def patterns_of(
    cohort: Cohort,
    walks: Sequence[ToolPath],
    limit: int,
    contexts: Mapping[str, Sequence[CallContext]] | None = None,
) -> DecisionPatterns:
    """The patterns of these runs.  `contexts`: by run; then only choices of model calls whose context had the text are
    counted.  Pure."""
    occurrences: dict[tuple[LastToolResult, str], Occurrences] = {}
    times = Counter[LastToolResult]()
    runs: dict[LastToolResult, dict[str, bool | None]] = {}
    for walk in walks:
        for situation, choice, seq in choices(walk):
            before = None if choice == END else seq
            if contexts is not None and not had_text(contexts[walk.member.run], before):
                continue
            occurrences.setdefault((situation, choice), Occurrences()).add(walk, seq)
            times[situation] += 1
            runs.setdefault(situation, {})[walk.member.run] = walk.member.succeeded
    frequent = [(*key, entry) for key, entry in occurrences.items() if len(entry.runs) >= MIN_RUNS]
    patterns = [_pattern(situation, choice, entry, times, runs) for situation, choice, entry in frequent]
    patterns.sort(
        key=lambda entry: (-entry["runs"], -entry["times"], entry["tool"], entry["result"] or "", entry["choice"])
    )
    return {"population": cohort.population, "patterns": patterns[:limit], "rare": len(occurrences) - len(frequent)}


def choices(walk: ToolPath) -> Iterator[tuple[LastToolResult, str, int]]:
    """Yields each choice of a run: situation, next tool (or `END`), and seq of its call (`END`: of the last call)."""
    situation, seq = LastToolResult(BEGIN, None), 1
    for step in walk.steps:
        yield situation, step.tool, step.seq
        situation, seq = LastToolResult(step.tool, step.result), step.seq
    yield situation, END, seq


def _pattern(
    situation: LastToolResult,
    choice: str,
    occurrences: Occurrences,
    times: Mapping[LastToolResult, int],
    runs: Mapping[LastToolResult, Mapping[str, bool | None]],
) -> DecisionPattern:
    others = (outcome for run, outcome in runs[situation].items() if run not in occurrences.runs)
    return {
        "tool": situation.tool,
        "result": situation.result,
        "choice": choice,
        "times": occurrences.times,
        "runs": len(occurrences.runs),
        "share": round(occurrences.times / times[situation], 6),
        "success": success_rate(occurrences.runs.values()),
        "otherwise": success_rate(others),
        "evidence": occurrences.first,
    }
