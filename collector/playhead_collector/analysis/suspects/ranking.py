"""[analysis]: ranks the steps of a run by the findings against them.  Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from playhead.wire.operations.compression import CompressionAudit
from playhead_collector.analysis.suspects.calls import find_calls
from playhead_collector.analysis.suspects.findings import MAX_FINDINGS, Finding, RunSteps, Step
from playhead_collector.analysis.suspects.listings import find_in_listings
from playhead_collector.analysis.suspects.lost_facts import find_lost_facts
from playhead_collector.analysis.suspects.misread import find_misreadings
from playhead_collector.analysis.suspects.offers import find_outcome
from playhead_collector.analysis.suspects.prompt_rules import find_broken_rules
from playhead_collector.analysis.suspects.refusals import find_refusals
from playhead_collector.analysis.suspects.siblings import find_divergence
from playhead_collector.analysis.suspects.values import find_values

_POINTS = {"strong": 4, "likely": 2, "weak": 1}
FINDERS: Sequence[Callable[[RunSteps], Iterator[Finding]]] = (
    find_values,
    find_misreadings,
    find_in_listings,
    find_refusals,
    find_calls,
    find_broken_rules,
    find_outcome,
)


@dataclass(frozen=True, slots=True)
class RankedStep:
    """A step, its points, and the findings against it, the strongest first."""

    step: Step
    points: int
    findings: Sequence[Finding]


def find_all(
    steps: RunSteps, siblings: Sequence[RunSteps] = (), audits: Sequence[CompressionAudit] = ()
) -> list[Finding]:
    """Returns the findings of all finders, at most 200 of each."""
    findings = [finding for finder in FINDERS for finding in islice(finder(steps), MAX_FINDINGS)]
    findings += islice(find_lost_facts(steps, audits), MAX_FINDINGS)
    return [*findings, *islice(find_divergence(steps, siblings), MAX_FINDINGS)]


def rank(steps: RunSteps, all_findings: Iterable[Finding]) -> list[RankedStep]:
    """Returns the steps with findings: most points first, then the earlier one. A rule counts once per step."""
    of_step: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in all_findings:
        of_step[finding.step].append(finding)
    ranked: list[RankedStep] = []
    for number, findings in of_step.items():
        ordered = sorted(findings, key=lambda finding: -finding.rule.level)
        points = sum(_POINTS[rule.strength] for rule in {finding.rule for finding in findings})
        ranked.append(RankedStep(steps.steps[number], points, ordered))
    return sorted(ranked, key=lambda ranked_step: (-ranked_step.points, ranked_step.step.number))
