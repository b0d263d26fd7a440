"""[read]: amounts that are counted, or estimated from a sample with a 95 % confidence interval.  Pure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from playhead.wire.operations.storage import Amount

# Half the width of a 95 % confidence interval.
_STANDARD_ERRORS = 1.96


class Pair(NamedTuple):
    """An item of a sample: its amount, and its weight in the projection to all items."""

    amount: float
    weight: int


def projected(sample: Sequence[Pair], weight: int | None, *, is_all: bool) -> Amount:
    """Estimates the amount of all items from their total `weight` (ratio estimator). Value None if `weight` is not
    known."""
    amount, weighed = sum(item.amount for item in sample), sum(item.weight for item in sample)
    if is_all:
        return measured(round(amount), exact=True)
    if not weighed or weight is None:
        return measured(None, exact=False)
    ratio, count = amount / weighed, len(sample)
    total = ratio * max(weight, weighed)
    if count < 2:
        return measured(round(total), exact=False)
    residuals = sum((item.amount - ratio * item.weight) ** 2 for item in sample)
    error = math.sqrt(residuals / (count - 1) / count) / (weighed / count) * max(weight, weighed)
    low, high = round(total - _STANDARD_ERRORS * error), round(total + _STANDARD_ERRORS * error)
    return measured(round(total), exact=False, low=max(low, round(amount)), high=high)


def add(first: Amount, other: Amount) -> Amount:
    """Adds two amounts. The ends of their intervals are added, too, which is wider than it has to be."""
    if first["value"] is None or other["value"] is None:
        return measured(None, exact=False)
    low, high = _bound(first, "low") + _bound(other, "low"), _bound(first, "high") + _bound(other, "high")
    value, exact = first["value"] + other["value"], first["exact"] and other["exact"]
    has_range = first["low"] is not None or other["low"] is not None
    return measured(value, exact=exact, low=low if has_range else None, high=high if has_range else None)


def _bound(of: Amount, name: str) -> int:
    bound: int | None = of["low"] if name == "low" else of["high"]
    return (of["value"] or 0) if bound is None else bound


def measured(value: int | None, *, exact: bool, low: int | None = None, high: int | None = None) -> Amount:
    """Returns an amount of an answer."""
    return {"value": value, "exact": exact, "low": low, "high": high}
