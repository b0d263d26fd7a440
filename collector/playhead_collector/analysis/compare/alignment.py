"""[analysis]: aligns the calls of two runs. Pure, deterministic, linear time.

Anchors fix the alignment, as in a patience diff: first calls with equal requests and responses that occur once in each
run, then calls with equal requests. The calls between anchors are paired by similarity. Pairs never cross, and do not
depend on which run is named first.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

# Between two anchors, all pairs are compared if there are at most so many: 100 calls with 100, a few ms, so that a run
# of n calls costs 100 n at most. Larger stretches have little in common, and are paired in order.
_MAX_CELLS = 10_000
_LOOK_AHEAD = 100
# Anchors are searched again between anchors, so many times: each time is one pass over the calls.
_MAX_PASSES = 8


@dataclass(frozen=True, slots=True)
class Facets:
    """The values by which a call is compared. Only calls of the same `sort` are paired; they have the same facets in
    `request` and `response`, in the same order."""

    sort: Hashable
    request: tuple[Hashable, ...]
    response: tuple[Hashable, ...]

    def likeness(self, other: "Facets") -> int:
        """One more than the number of equal facets; 0 for calls that must not be paired."""
        if self.sort != other.sort:
            return 0
        ours, theirs = (*self.request, *self.response), (*other.request, *other.response)
        return 1 + sum(left == right for left, right in zip(ours, theirs, strict=False))


Pair = tuple[int | None, int | None]
"""Positions of a call in the two runs; None for the run without a counterpart."""
_Range = tuple[int, int, int, int]
_Key = Callable[[Facets], Hashable]


def align(ours: Sequence[Facets], theirs: Sequence[Facets]) -> list[Pair]:
    """Returns pairs that have every call of both runs exactly once, in the order of both runs.

    Between two pairs of calls, the calls that only `ours` has come first. `align(theirs, ours)` has the same pairs,
    with their positions exchanged.
    """
    # Which one of equally good alignments is returned must not depend on which run is named first.
    if _comes_first(theirs, ours):
        return _ours_first([(i, j) for j, i in _aligned(theirs, ours)])
    return _ours_first(_aligned(ours, theirs))


def _comes_first(left: Sequence[Facets], right: Sequence[Facets]) -> bool:
    """Whether `left` comes before `right` in a fixed order of call lists."""
    for a, b in zip(left, right, strict=False):
        if a != b:
            return repr(a) < repr(b)
    return len(left) < len(right)


def _ours_first(pairs: Sequence[Pair]) -> list[Pair]:
    ordered: list[Pair] = []
    only_theirs: list[Pair] = []
    for pair in pairs:
        if pair[0] is None:
            only_theirs.append(pair)
            continue
        if pair[1] is not None:
            ordered += only_theirs
            only_theirs = []
        ordered.append(pair)
    return ordered + only_theirs


def _aligned(ours: Sequence[Facets], theirs: Sequence[Facets]) -> list[Pair]:
    pairs: list[Pair] = []
    # Open stretches and final pairs, the next one on top.
    stack: list[tuple[_Range, int] | Pair] = [((0, len(ours), 0, len(theirs)), 0)]
    while stack:
        top = stack.pop()
        if not isinstance(top[0], tuple):
            pairs.append((top[0], top[1]))
            continue
        stretch, done = top[0], top[1] or 0
        stack += reversed(list(_divide(ours, theirs, stretch, done)))
    return pairs


def _divide(
    ours: Sequence[Facets], theirs: Sequence[Facets], stretch: _Range, done: int
) -> Iterator[tuple[_Range, int] | Pair]:
    """Splits a stretch into pairs, and into smaller stretches that are aligned in further passes."""
    a, a_end, b, b_end = stretch
    while a < a_end and b < b_end and ours[a] == theirs[b]:
        yield a, b
        a, b = a + 1, b + 1
    tail = 0
    while a < a_end - tail and b < b_end - tail and ours[a_end - 1 - tail] == theirs[b_end - 1 - tail]:
        tail += 1
    inner = (a, a_end - tail, b, b_end - tail)
    yield from _inner(ours, theirs, inner, done)
    yield from ((a_end - n, b_end - n) for n in range(tail, 0, -1))


def _inner(
    ours: Sequence[Facets], theirs: Sequence[Facets], stretch: _Range, done: int
) -> Iterator[tuple[_Range, int] | Pair]:
    a, a_end, b, b_end = stretch
    if a == a_end or b == b_end:
        yield from ((n, None) for n in range(a, a_end))
        yield from ((None, n) for n in range(b, b_end))
        return
    for level, key in enumerate(_KEYS):
        if done >= (level + 1) * _MAX_PASSES:
            continue
        anchors = _anchors(ours, theirs, stretch, key)
        if anchors:
            passes = max(done, level * _MAX_PASSES) + 1
            for i, j in anchors:
                yield (a, i, b, j), passes
                yield i, j
                a, b = i + 1, j + 1
            yield (a, a_end, b, b_end), passes
            return
    small = (a_end - a) * (b_end - b) <= _MAX_CELLS
    yield from (_weighed if small else _in_order)(ours, theirs, stretch)


def _request_key(call: Facets) -> Hashable:
    return call.sort, call.request


def _full_key(call: Facets) -> Hashable:
    return call


_KEYS: tuple[_Key, ...] = (_full_key, _request_key)


def _anchors(ours: Sequence[Facets], theirs: Sequence[Facets], stretch: _Range, key: _Key) -> list[tuple[int, int]]:
    """The longest sequence of calls that occur once in each run and have the same order in both."""
    a, a_end, b, b_end = stretch
    here, there = _unique_positions(ours, a, a_end, key), _unique_positions(theirs, b, b_end, key)
    candidates = [(i, there[k]) for k, i in here.items() if k in there]
    # Longest increasing subsequence; `ends`: for each length the lowest position at which one ends.
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for n, (_, j) in enumerate(candidates):
        index = bisect_left(ends, j)
        before.append(last[index - 1] if index else None)
        ends[index:] = [j, *ends[index + 1 :]] if index < len(ends) else [j]
        last[index:] = [n, *last[index + 1 :]] if index < len(last) else [n]
    line: list[tuple[int, int]] = []
    here_at: int | None = last[-1] if last else None
    while here_at is not None:
        line.append(candidates[here_at])
        here_at = before[here_at]
    return line[::-1]


def _unique_positions(calls: Sequence[Facets], start: int, end: int, key: _Key) -> dict[Hashable, int]:
    """Positions of the values that occur once, in order."""
    positions: dict[Hashable, int] = {}
    again: set[Hashable] = set()
    for position in range(start, end):
        k = key(calls[position])
        if k in positions:
            again.add(k)
        positions.setdefault(k, position)
    return {k: position for k, position in positions.items() if k not in again}


def _weighed(ours: Sequence[Facets], theirs: Sequence[Facets], stretch: _Range) -> Iterator[Pair]:
    """The pairs with the highest total similarity."""
    a, a_end, b, b_end = stretch
    rows, columns = a_end - a, b_end - b
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    likeness = [[ours[a + i].likeness(theirs[b + j]) for j in range(columns)] for i in range(rows)]
    for i in range(rows - 1, -1, -1):
        row, below, alike = best[i], best[i + 1], likeness[i]
        for j in range(columns - 1, -1, -1):
            paired = alike[j] + below[j + 1] if alike[j] else 0
            row[j] = max(paired, below[j], row[j + 1])
    i = j = 0
    while i < rows and j < columns:
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            yield a + i, b + j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield a + i, None
            i += 1
        else:
            yield None, b + j
            j += 1
    yield from ((a + n, None) for n in range(i, rows))
    yield from ((None, b + n) for n in range(j, columns))


def _in_order(ours: Sequence[Facets], theirs: Sequence[Facets], stretch: _Range) -> Iterator[Pair]:
    """Pairs each call with the next one of its sort, unless that is far away."""
    a, a_end, b, b_end = stretch
    positions: defaultdict[Hashable, list[int]] = defaultdict(list)
    for j in range(b, b_end):
        positions[theirs[j].sort].append(j)
    for i in range(a, a_end):
        of_sort = positions.get(ours[i].sort, [])
        index = bisect_left(of_sort, b)
        j = of_sort[index] if index < len(of_sort) else b_end
        if j >= min(b_end, b + _LOOK_AHEAD):
            yield i, None
            continue
        yield from ((None, n) for n in range(b, j))
        yield i, j
        b = j + 1
    yield from ((None, n) for n in range(b, b_end))
