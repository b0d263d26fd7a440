"""What is chosen after which result of which tool, and how do such runs end?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from playhead.wire.operations.across import DecisionPattern, DecisionPatterns
from playhead_collector.analysis.across.cohort import Cohort, read_cohort
from playhead_collector.analysis.across.rates import MIN_RUNS, success_rate
from playhead_collector.analysis.across.steps import BEGIN, END, ToolPath, read_steps
from playhead_collector.analysis.across.transitions import Occurrences
from playhead_collector.store.ports import ReadStore


class Situation(NamedTuple):
    """The last tool call before a choice, and its result; `BEGIN` and None at the beginning of a run."""

    tool: str
    result: str | None


async def answer_patterns(
    store: ReadStore, project_id: int, cohort: Mapping[str, Any], *, limit: int
) -> DecisionPatterns:
    """Returns the patterns of the runs that `cohort` selects, at most `limit`."""
    chosen = await read_cohort(store, project_id, cohort)
    return patterns_of(chosen, await read_steps(store, project_id, chosen.members), limit)


def patterns_of(cohort: Cohort, walks: Sequence[ToolPath], limit: int) -> DecisionPatterns:
    """The patterns of these runs.  Pure."""
    occurrences: dict[tuple[Situation, str], Occurrences] = {}
    times = Counter[Situation]()
    runs: dict[Situation, dict[str, bool | None]] = {}
    for walk in walks:
        for situation, choice, seq in choices(walk):
            occurrences.setdefault((situation, choice), Occurrences()).add(walk, seq)
            times[situation] += 1
            runs.setdefault(situation, {})[walk.member.run] = walk.member.succeeded
    frequent = [(*key, entry) for key, entry in occurrences.items() if len(entry.runs) >= MIN_RUNS]
    patterns = [_pattern(situation, choice, entry, times, runs) for situation, choice, entry in frequent]
    patterns.sort(
        key=lambda entry: (-entry["runs"], -entry["times"], entry["tool"], entry["result"] or "", entry["choice"])
    )
    return {"population": cohort.population, "patterns": patterns[:limit], "rare": len(occurrences) - len(frequent)}


def choices(walk: ToolPath) -> Iterator[tuple[Situation, str, int]]:
    """Yields each choice of a run: situation, next tool (or `END`), and seq of its call (`END`: of the last call)."""
    situation, seq = Situation(BEGIN, None), 1
    for step in walk.steps:
        yield situation, step.tool, step.seq
        situation, seq = Situation(step.tool, step.result), step.seq
    yield situation, END, seq


def _pattern(
    situation: Situation,
    choice: str,
    occurrences: Occurrences,
    times: Mapping[Situation, int],
    runs: Mapping[Situation, Mapping[str, bool | None]],
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
