"""What is chosen after which result of which tool, and how do such runs end?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from playhead.wire.answers.across.analytics import DecisionPattern, DecisionPatterns
from playhead_collector.analysis.across.cohort import Cohort, read_cohort
from playhead_collector.analysis.across.rates import MIN_RUNS, success_rate
from playhead_collector.analysis.across.steps import BEGIN, END, ToolPath, read_steps
from playhead_collector.analysis.across.transitions import Occurrences
from playhead_collector.store.ports import ReadStore


class Situation(NamedTuple):
    """The last tool and its result, before a choice; at the beginning of a run, `BEGIN` and None."""

    tool: str
    result: str | None


async def answer_patterns(
    store: ReadStore, project_id: int, cohort: Mapping[str, Any], *, limit: int
) -> DecisionPatterns:
    """The patterns of the runs that `cohort` chooses, at most `limit`."""
    chosen = await read_cohort(store, project_id, cohort)
    return patterns_of(chosen, await read_steps(store, project_id, chosen.members), limit)


def patterns_of(cohort: Cohort, walks: Sequence[ToolPath], limit: int) -> DecisionPatterns:
    """The patterns of these runs.  Pure."""
    found: dict[tuple[Situation, str], Occurrences] = {}
    times = Counter[Situation]()
    runs: dict[Situation, dict[str, bool | None]] = {}
    for walk in walks:
        for situation, choice, seq in choices(walk):
            found.setdefault((situation, choice), Occurrences()).add(walk, seq)
            times[situation] += 1
            runs.setdefault(situation, {})[walk.member.run] = walk.member.succeeded
    frequent = [(*key, each) for key, each in found.items() if len(each.runs) >= MIN_RUNS]
    patterns = [_pattern(situation, choice, each, times, runs) for situation, choice, each in frequent]
    patterns.sort(key=lambda each: (-each["runs"], -each["times"], each["tool"], each["result"] or "", each["choice"]))
    return {"population": cohort.population, "patterns": patterns[:limit], "rare": len(found) - len(frequent)}


def choices(walk: ToolPath) -> Iterator[tuple[Situation, str, int]]:
    """Each choice of a run: the situation, the tool that was called (or `END`), and the seq at which it shows."""
    situation, seq = Situation(BEGIN, None), 1
    for step in walk.steps:
        yield situation, step.tool, step.seq
        situation, seq = Situation(step.tool, step.result), step.seq
    yield situation, END, seq


def _pattern(
    situation: Situation,
    choice: str,
    each: Occurrences,
    times: Mapping[Situation, int],
    runs: Mapping[Situation, Mapping[str, bool | None]],
) -> DecisionPattern:
    others = (outcome for run, outcome in runs[situation].items() if run not in each.runs)
    return {
        "tool": situation.tool,
        "result": situation.result,
        "choice": choice,
        "times": each.times,
        "runs": len(each.runs),
        "share": round(each.times / times[situation], 6),
        "success": success_rate(each.runs.values()),
        "otherwise": success_rate(others),
        "evidence": each.first,
    }
