"""Shares of runs, with their uncertainty.  Pure."""

import math
from collections.abc import Iterable
from typing import Final

from playhead.wire.operations.across import SuccessRate

MIN_RUNS: Final = 5
"""Least number of runs for a pattern."""
_Z: Final = 1.959963984540054  # of 95 %


def wilson(hits: int, of: int) -> tuple[float, float] | None:
    """Returns the 95 % Wilson score interval of the share `hits / of`; None if `of` is 0."""
    if of == 0:
        return None
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def success_rate(outcomes: Iterable[bool | None]) -> SuccessRate:
    """Counts the runs that succeeded and failed, with the share of success. None (no outcome) is not counted."""
    known_outcomes = [outcome for outcome in outcomes if outcome is not None]
    succeeded = sum(known_outcomes)
    bounds = wilson(succeeded, len(known_outcomes))
    return {
        "succeeded": succeeded,
        "failed": len(known_outcomes) - succeeded,
        "rate": None if bounds is None else round(succeeded / len(known_outcomes), 6),
        "low": None if bounds is None else round(bounds[0], 6),
        "high": None if bounds is None else round(bounds[1], 6),
    }
