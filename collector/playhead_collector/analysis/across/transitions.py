"""Which tool follows which?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from playhead.wire.operations.across import RunMoment, Transition, TransitionGraph
from playhead_collector.analysis.across.cohort import Cohort, read_cohort
from playhead_collector.analysis.across.rates import success_rate
from playhead_collector.analysis.across.steps import BEGIN, END, ToolPath, read_steps
from playhead_collector.store.ports import ReadStore

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


async def answer_transitions(store: ReadStore, project_id: int, cohort: Mapping[str, Any]) -> TransitionGraph:
    """Returns the transitions of the runs that `cohort` selects."""
    chosen = await read_cohort(store, project_id, cohort)
    return transitions_of(chosen, await read_steps(store, project_id, chosen.members))


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
