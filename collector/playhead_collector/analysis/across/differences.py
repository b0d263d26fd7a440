"""[analysis]: what distinguishes failed from succeeded runs?

Every feature of a run is tested: yes-or-no features with Fisher's exact test, numbers with the Mann-Whitney U test
(two-sided, normal approximation with corrections for ties and continuity), which assumes no distribution. All tests are
counted, and the p values are corrected with the method of Benjamini and Hochberg for the share of false discoveries.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from playhead.projection.run_row import RunRow
from playhead.wire.operations.across import OutcomeDifference, OutcomeDifferences
from playhead_collector.analysis.across.cohort import MIN_RUNS, Cohort
from playhead_collector.analysis.across.statistics import MEASURES, percentile
from playhead_collector.analysis.across.tool_sequences import FAILED, RETURNED_ERROR, ToolPath, choices, read_steps
from playhead_collector.store.ports import ReadStore

CORRECTION: Final = "benjamini_hochberg"
_SIGNIFICANT: Final = 0.05
_EVIDENCE: Final = 3
_LABELS: Final = {"tags": "tag", "agents": "agent", "models": "model"}


async def answer_differences(store: ReadStore, project_id: int, cohort: Cohort, *, limit: int) -> OutcomeDifferences:
    """Returns the differences between failed and succeeded runs of those of `cohort`, at most `limit`."""
    return differences_of(cohort, await read_steps(store, project_id, cohort.members), limit)


def differences_of(cohort: Cohort, walks: Sequence[ToolPath], limit: int) -> OutcomeDifferences:
    """The differences between failed and succeeded runs among these.  Pure."""
    failed = [walk for walk in walks if walk.member.succeeded is False]
    succeeded = [walk for walk in walks if walk.member.succeeded is True]
    differences: list[OutcomeDifference] = []
    note = None
    if min(len(failed), len(succeeded)) < MIN_RUNS:
        note = f"nothing was tested: it takes {MIN_RUNS} failed and {MIN_RUNS} succeeded runs"
    else:
        differences = [*_measure_differences(failed, succeeded), *_feature_differences(failed, succeeded)]
    for difference, q in zip(
        differences, benjamini_hochberg([difference["p"] for difference in differences]), strict=True
    ):
        difference["q"], difference["significant"] = q, q <= _SIGNIFICANT
    differences.sort(key=lambda difference: (difference["p"], difference["feature"]))
    return {
        "population": cohort.population,
        "differences": differences[:limit],
        "tried": len(differences),
        "correction": CORRECTION,
        "note": note,
    }


def features(walk: ToolPath) -> set[str]:
    """The yes-or-no features of a run: tools, failures of tools, choices after a result, models, agents, tags."""
    properties = {f"calls {step.tool}" for step in walk.steps}
    properties |= {f"{step.tool} fails" for step in walk.steps if step.result == FAILED}
    properties |= {f"{step.tool} returns an error" for step in walk.steps if step.result == RETURNED_ERROR}
    properties |= {f"calls {tool} again" for tool, times in _tool_counts(walk).items() if times > 1}
    for (tool, result), choice, _ in choices(walk):
        properties.add(f"{choice} after {tool}" + (f" {result}" if result else ""))
    for field, name in _LABELS.items():
        properties |= {f"{name} {value}" for value in getattr(walk.member.row, field)}
    return properties


def _tool_counts(walk: ToolPath) -> dict[str, int]:
    counts: dict[str, int] = {}
    for step in walk.steps:
        counts[step.tool] = counts.get(step.tool, 0) + 1
    return counts


def _feature_differences(failed: Sequence[ToolPath], succeeded: Sequence[ToolPath]) -> Iterator[OutcomeDifference]:
    having: dict[str, tuple[list[str], list[str]]] = {}
    for group, walks in enumerate((failed, succeeded)):
        for walk in walks:
            for feature in features(walk):
                having.setdefault(feature, ([], []))[group].append(walk.member.run)
    every = len(failed) + len(succeeded)
    for feature, (in_failed, in_succeeded) in sorted(having.items()):
        times = len(in_failed) + len(in_succeeded)
        if times < MIN_RUNS or every - times < MIN_RUNS:
            continue  # too rare, or nearly all runs have it
        without = len(failed) - len(in_failed), len(succeeded) - len(in_succeeded)
        below = len(in_succeeded) * without[0]
        yield {
            "feature": feature,
            "test": "fisher_exact",
            "failed": {"runs": len(in_failed), "of": len(failed)},
            "succeeded": {"runs": len(in_succeeded), "of": len(succeeded)},
            "effect": round(len(in_failed) * without[1] / below, 6) if below else None,
            "p": fisher_exact(len(in_failed), len(failed), len(in_succeeded), len(succeeded)),
            "q": 1.0,
            "significant": False,
            "evidence": in_failed[:_EVIDENCE],
        }


def _measure_differences(failed: Sequence[ToolPath], succeeded: Sequence[ToolPath]) -> Iterator[OutcomeDifference]:
    for name, of in MEASURES.items():
        first = _known((walk.member.row, of(walk.member.row)) for walk in failed)
        second = _known((walk.member.row, of(walk.member.row)) for walk in succeeded)
        values, others = [value for _, value in first], [value for _, value in second]
        if min(len(values), len(others)) < MIN_RUNS or len({*values, *others}) == 1:
            continue
        tested = mann_whitney(values, others)
        extreme = sorted(first, key=lambda pair: pair[1], reverse=tested.larger >= 1 / 2)
        yield {
            "feature": name,
            "test": "mann_whitney_u",
            "failed": percentile(sorted(values), 1 / 2),
            "succeeded": percentile(sorted(others), 1 / 2),
            "effect": round(tested.larger, 6),
            "p": tested.p,
            "q": 1.0,
            "significant": False,
            "evidence": [row.run for row, _ in extreme[:_EVIDENCE]],
        }


def _known(pairs: Iterable[tuple[RunRow, float | None]]) -> list[tuple[RunRow, float]]:
    return [(row, value) for row, value in pairs if value is not None]


# --- significance tests, pure ----------------------------------------------------------------------------------------

_TIE = 1 + 1e-7  # tolerance for probabilities that differ only by rounding


class RankTest(NamedTuple):
    """Result of `mann_whitney`. `larger`: probability that a number of the first group is larger than one of the second
    (ties count half)."""

    larger: float
    p: float


def fisher_exact(first_with: int, first_of: int, second_with: int, second_of: int) -> float:
    """Returns the two-sided p of the hypothesis that both groups have the property equally often."""
    total, having = first_of + second_of, first_with + second_with
    low, high = max(0, having - second_of), min(having, first_of)
    logs = [_log_choose(first_of, k) + _log_choose(second_of, having - k) for k in range(low, high + 1)]
    all_ways = _log_choose(total, having)
    observed = logs[first_with - low] - all_ways
    cutoff = observed + math.log(_TIE)
    return min(1.0, math.fsum(math.exp(log - all_ways) for log in logs if log - all_ways <= cutoff))


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> RankTest:
    """Tests whether the numbers of one group tend to be larger. Both groups need at least one number."""
    ranks, ties = _ranks([*first, *second])
    n, m = len(first), len(second)
    u = math.fsum(ranks[:n]) - n * (n + 1) / 2
    total = n + m
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1))) if total > 1 else 0.0
    away = max(0.0, abs(u - n * m / 2) - 0.5)
    p = 1.0 if variance <= 0 else math.erfc(away / math.sqrt(2 * variance))
    return RankTest(u / (n * m), min(1.0, p))


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Returns the corrected value (q) of each p, in the order of `ps`."""
    order = sorted(range(len(ps)), key=lambda index: ps[index], reverse=True)
    corrected, least = [1.0] * len(ps), 1.0
    for done, index in enumerate(order):
        least = min(least, ps[index] * len(ps) / (len(ps) - done))
        corrected[index] = least
    return corrected


def _ranks(values: Sequence[float]) -> tuple[list[float], float]:
    """The rank of each value (equal ones have their mean rank), and the sum of t³ - t over groups of t equal values."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranks, ties, start = [0.0] * len(values), 0.0, 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for index in order[start:end]:
            ranks[index] = (start + 1 + end) / 2
        ties += (end - start) ** 3 - (end - start)
        start = end
    return ranks, ties


@lru_cache(maxsize=65_536)
def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
