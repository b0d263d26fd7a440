"""Intervals and tests: known values, brute force, and what must always hold."""

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model.shares import wilson
from playhead_collector.analysis.across.differences import benjamini_hochberg, fisher_exact, mann_whitney

small = st.integers(min_value=0, max_value=12)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.277533), (5, 10, 0.236593, 0.763407), (10, 10, 0.722467, 1.0), (1, 1, 0.206549, 1.0)],
)
def test_intervals_are_wilson_s(hits: int, of: int, low: float, high: float):
    assert wilson(hits, of) == pytest.approx((low, high), abs=1e-6)


@given(st.integers(min_value=0, max_value=500), st.integers(min_value=1, max_value=500))
def test_an_interval_has_the_share_in_it(hits: int, of: int):
    hits = min(hits, of)
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of + 1e-12
    assert hits / of - 1e-12 <= high <= 1


@pytest.mark.parametrize(
    ("table", "p"),
    # R: fisher.test(matrix(c(3, 1, 1, 3), 2)), of the tea-tasting lady; and others
    [((3, 4, 1, 4), 0.485714), ((8, 10, 1, 6), 0.034965), ((0, 5, 5, 5), 0.007937), ((0, 0, 1, 2), 1.0)],
)
def test_fisher_s_test_gives_known_values(table: tuple[int, int, int, int], p: float):
    assert fisher_exact(*table) == pytest.approx(p, abs=1e-6)


@given(small, small, small, small)
def test_fisher_s_test_is_what_counting_all_tables_gives(a: int, b: int, c: int, d: int):
    first_of, second_of, having = a + b, c + d, a + c
    ways = [
        math.comb(first_of, k) * math.comb(second_of, having - k)
        for k in range(max(0, having - second_of), min(having, first_of) + 1)
    ]
    observed = math.comb(first_of, a) * math.comb(second_of, c)
    expected = sum(way for way in ways if way <= observed) / math.comb(first_of + second_of, having)
    assert fisher_exact(a, first_of, c, second_of) == pytest.approx(expected, rel=1e-6)
    assert fisher_exact(c, second_of, a, first_of) == pytest.approx(expected, rel=1e-6)


values = st.lists(st.integers(min_value=0, max_value=9).map(float), min_size=1, max_size=20)


@given(values, values)
def test_the_rank_test_counts_pairs_and_is_the_same_from_both_sides(first: list[float], second: list[float]):
    tested, other = mann_whitney(first, second), mann_whitney(second, first)
    pairs = [(a > b) + (a == b) / 2 for a in first for b in second]
    assert tested.larger == pytest.approx(sum(pairs) / len(pairs))
    assert tested.p == pytest.approx(other.p)
    assert tested.larger + other.larger == pytest.approx(1)
    assert 0 <= tested.p <= 1


def test_the_rank_test_is_close_to_all_ways_to_divide_the_numbers():
    first, second = [3.0, 5, 8, 9, 12, 14, 15], [1.0, 2, 4, 6, 7, 10]
    every, observed = [*first, *second], mann_whitney(first, second)
    away = abs(observed.larger - 0.5)
    divided = [
        abs(
            mann_whitney(
                [every[at] for at in chosen], [each for at, each in enumerate(every) if at not in chosen]
            ).larger
            - 0.5
        )
        for chosen in combinations(range(len(every)), len(first))
    ]
    assert observed.p == pytest.approx(sum(each >= away - 1e-12 for each in divided) / len(divided), abs=0.02)


def test_the_correction_is_benjamini_and_hochberg_s():
    # Of their paper of 1995: 15 tests, of which the first four stand at 0.05.
    ps = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
          0.7590, 1.0]  # fmt: skip
    assert sum(q <= 0.05 for q in benjamini_hochberg(ps)) == 4
    assert benjamini_hochberg([]) == []


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=30))
def test_a_corrected_p_is_never_smaller_and_keeps_the_order(ps: list[float]):
    qs = benjamini_hochberg(ps)
    assert all(p <= q <= 1 or math.isclose(p, q) for p, q in zip(ps, qs, strict=True))
    ranked = sorted(zip(ps, qs, strict=True))
    assert all(first[1] <= second[1] + 1e-12 for first, second in pairwise(ranked))
