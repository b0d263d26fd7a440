"""The value below which a share of numbers lies."""

from collections.abc import Sequence


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share lies, interpolated between neighbours. `ordered` has at least one."""
    at = (len(ordered) - 1) * share
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)
