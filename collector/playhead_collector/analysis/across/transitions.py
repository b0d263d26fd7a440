"""Which tool follows which?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from playhead.wire.answers.across.analytics import RunMoment, Transition, TransitionGraph
from playhead_collector.analysis.across.cohort import Cohort, read_cohort
from playhead_collector.analysis.across.rates import success_rate
from playhead_collector.analysis.across.steps import BEGIN, END, ToolPath, read_steps
from playhead_collector.store.ports import ReadStore

EVIDENCE: Final = 3


@dataclass(slots=True)
class Occurrences:
    """How often something happened, and in which runs: whether they succeeded, by run, and the first moment in each."""

    times: int = 0
    runs: dict[str, bool | None] = field(default_factory=dict[str, bool | None])
    first: list[RunMoment] = field(default_factory=list[RunMoment])

    def add(self, walk: ToolPath, seq: int) -> None:
        """Counts one more, at the event `seq` of this run."""
        self.times += 1
        if walk.member.run not in self.runs:
            self.runs[walk.member.run] = walk.member.succeeded
            if len(self.first) < EVIDENCE:
                self.first.append({"run": walk.member.run, "seq": seq})


async def answer_transitions(store: ReadStore, project_id: int, cohort: Mapping[str, Any]) -> TransitionGraph:
    """The transitions of the runs that `cohort` chooses."""
    chosen = await read_cohort(store, project_id, cohort)
    return transitions_of(chosen, await read_steps(store, project_id, chosen.members))


def transitions_of(cohort: Cohort, walks: Sequence[ToolPath]) -> TransitionGraph:
    """The transitions of these runs.  Pure."""
    found: dict[tuple[str, str], Occurrences] = {}
    left = Counter[str]()
    for walk in walks:
        for source, to, seq in _moves(walk):
            found.setdefault((source, to), Occurrences()).add(walk, seq)
            left[source] += 1
    transitions = [_transition(source, to, each, left[source]) for (source, to), each in found.items()]
    transitions.sort(key=lambda each: (-each["times"], each["source"], each["to"]))
    return {"population": cohort.population, "transitions": transitions}


def _moves(walk: ToolPath) -> Iterator[tuple[str, str, int]]:
    source, seq = BEGIN, 1
    for step in walk.steps:
        yield source, step.tool, step.seq
        source, seq = step.tool, step.seq
    yield source, END, seq


def _transition(source: str, to: str, each: Occurrences, left: int) -> Transition:
    return {
        "source": source,
        "to": to,
        "times": each.times,
        "runs": len(each.runs),
        "share": round(each.times / left, 6),
        "success": success_rate(each.runs.values()),
        "evidence": each.first,
    }
