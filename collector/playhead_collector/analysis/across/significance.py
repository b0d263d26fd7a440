"""Tests whether two groups differ, and the correction for the number of tests.  Pure.

Fisher's exact test for yes and no; the Mann-Whitney U test (two-sided, normal approximation with corrections for ties
and continuity) for numbers, which assumes no distribution; Benjamini-Hochberg for the share of false discoveries.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

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
