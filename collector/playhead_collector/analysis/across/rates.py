"""Shares of runs, with their uncertainty.  Pure."""

import math
from collections.abc import Iterable
from typing import Final

from playhead.wire.answers.across.analytics import SuccessRate

MIN_RUNS: Final = 5
"""Nothing that fewer runs have is called a pattern."""
_Z: Final = 1.959963984540054  # of 95 %


def wilson(hits: int, of: int) -> tuple[float, float] | None:
    """The 95 % Wilson score interval of a share; None without a case."""
    if of == 0:
        return None
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def success_rate(outcomes: Iterable[bool | None]) -> SuccessRate:
    """How many of these runs succeeded; runs without an outcome are left out of the share."""
    known = [outcome for outcome in outcomes if outcome is not None]
    succeeded = sum(known)
    bounds = wilson(succeeded, len(known))
    return {
        "succeeded": succeeded,
        "failed": len(known) - succeeded,
        "rate": None if bounds is None else round(succeeded / len(known), 6),
        "low": None if bounds is None else round(bounds[0], 6),
        "high": None if bounds is None else round(bounds[1], 6),
    }
