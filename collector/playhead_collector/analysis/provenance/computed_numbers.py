"""[analysis]: numbers that are computed from other numbers: sums, differences, products, unit conversions. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice

from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.provenance.derived_values import Derivation
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import ASSISTANT, RESULT, SYSTEM, ContextIndex, Hit
from playhead_collector.analysis.texts.words import plain_number
from playhead_collector.analysis.transcript.arguments import TracedCall

# With more numbers or factors, more values could be computed by chance.
_MAX_NUMBERS, _MAX_FACTOR = 60, 5
# Never the source of an argument; but a fact within a text that can be computed like this is not unfounded.
TOO_MANY_WAYS = StrengthRule("too_many_ways", "weak", "computed in so many ways that none says anything")

# For each rule: the most other ways of the simplest rank, by that rank (0 to 3). -1: the rule never applies.
_MOST_RIVALS = (
    (rules.COMPUTED, (0, 0, -1, -1)),
    (rules.COMPUTED_INDIRECTLY, (2, 1, 0, 0)),
    (rules.COMPUTED_AMBIGUOUSLY, (3, 2, 1, 1)),
    (rules.COMPUTED_BY_CHANCE, (6, 5, 3, 2)),
)

Computation = tuple[int, str, tuple[Hit, ...]]
"""Rank (0: the simplest), the formula as text, and the occurrences of its numbers."""


def derive_number(index: ContextIndex, traced: TracedCall, path: str, plain: str) -> Derivation | None:
    """Derives a number as a sum, difference, product or other unit of numbers that were mentioned, or that occur near
    other values of this call.

    The more ways there are to compute it, the weaker the rule.
    """
    target = Decimal(plain)
    pool = numbers_to_compute_with(index, traced, path)
    return simplest_computation(plain, computations_of(target, pool))


def simplest_computation(plain: str, ways: Iterable[Computation]) -> Derivation | None:
    """Returns the simplest way, or None. Of equally simple ones, the one with fewest numbers from the agent's words."""
    ranked = sorted(ways, key=lambda way: (way[0], sum(hit.passage.source == ASSISTANT for hit in way[2]), len(way[2])))
    if not ranked:
        return None
    rank, note, hits = ranked[0]
    rivals = sum(way[0] == rank for way in ranked) - 1
    rule = next((rule for rule, most in _MOST_RIVALS if rivals <= most[rank]), TOO_MANY_WAYS)
    return Derivation("computed", f"{note} = {plain}", hits, rule)


def numbers_to_compute_with(index: ContextIndex, traced: TracedCall, path: str) -> dict[Decimal, Hit]:
    """Numbers that a value may be computed from, at most 60:
    from users' and the agent's own words, near values of this call in a result, and near
    the tool's name in the system message.
    """
    pool: dict[Decimal, Hit] = {}
    for plain, hit in index.latest_numbers(traced.visible):
        number = Decimal(plain)
        if abs(number) > 12 and number not in pool and _is_spoken_of(traced, path, hit):
            pool[number] = hit
            if len(pool) == _MAX_NUMBERS:
                break
    return pool


def _is_spoken_of(traced: TracedCall, path: str, hit: Hit) -> bool:
    if hit.passage.source == RESULT:
        # Not a number within a longer text, such as an address.
        before = hit.passage.text[max(0, hit.start - 2) : hit.start]
        bare = before.endswith((": ", ":", "$", "[", ", ")) or (not before and hit.text == hit.passage.text)
        return bare and traced.relatedness(hit, path) > 0
    return hit.passage.source != SYSTEM or traced.affinity(hit, path) > 0


def computations_of(target: Decimal, numbers: Mapping[Decimal, Hit]) -> Iterator[Computation]:
    """Ways to compute the target, each with its rank: simpler ones have lower ranks."""
    pool = dict(islice(((number, hit) for number, hit in numbers.items() if number != target), _MAX_NUMBERS))
    for number, hit in pool.items():
        yield from (
            (0, f"{factor} * {_shown(number)}", (hit,))
            for factor in range(2, _MAX_FACTOR + 1)
            if number * factor == target
        )
        if any(number * scale == target or target * scale == number for scale in (100, 1000)):
            yield 0, f"{_shown(number)} in another unit", (hit,)
    for first, second in _pairs(target, pool):
        yield from ((rank, note, (pool[first], pool[second])) for rank, note in _ways_of_two(target, first, second))
    yield from _sums_of_three(target, pool)


def _pairs(target: Decimal, pool: Mapping[Decimal, Hit]) -> Iterator[tuple[Decimal, Decimal]]:
    """Pairs of numbers that may give the target. For each number only its possible partners are looked up, so not all
    pairs are tried.
    """
    order = {number: place for place, number in enumerate(pool)}
    shares = [target / factor for factor in range(1, _MAX_FACTOR + 1)]
    for first, place in order.items():
        missing = {target / first} if first else set[Decimal]()
        for share in shares:
            missing |= {share - first, first - share, first + share}
        later = sorted(index for partner in missing if (index := order.get(partner, -1)) > place)
        numbers = list(order) if later else []
        yield from ((first, numbers[index]) for index in later)


def _ways_of_two(target: Decimal, first: Decimal, second: Decimal) -> Iterator[tuple[int, str]]:
    added = f"{_shown(first)} + {_shown(second)}"
    subtracted, rest = f"{_shown(max(first, second))} - {_shown(min(first, second))}", abs(first - second)
    if first + second == target:
        yield 1, added
    if rest == target and target > 0:
        yield 1, subtracted
    if first * second == target:
        yield 1, f"{_shown(first)} * {_shown(second)}"
    for factor in range(2, _MAX_FACTOR + 1):
        if (first + second) * factor == target:
            yield 2, f"{factor} * ({added})"
        if rest * factor == target and target > 0:
            yield 2, f"{factor} * ({subtracted})"


def _sums_of_three(target: Decimal, pool: Mapping[Decimal, Hit]) -> Iterator[Computation]:
    order = {number: place for place, number in enumerate(pool)}
    rising = sorted(pool)
    sums: list[tuple[int, int, Decimal, Decimal, Decimal]] = []
    for least, first in enumerate(rising):
        if first * 3 >= target:
            break  # the sum with two larger numbers exceeds the target
        for second in rising[least + 1 :]:
            third = target - first - second
            if third <= second:
                break
            if third in pool and order[first] < order[second]:
                sums.append((order[first], order[second], first, second, third))
    for _, _, *three in sorted(sums):
        yield 3, " + ".join(map(_shown, three)), tuple(pool[number] for number in three)


def _shown(number: Decimal) -> str:
    return plain_number(number) or str(number)
