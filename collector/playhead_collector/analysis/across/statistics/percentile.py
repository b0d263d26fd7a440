"""The value below which a share of numbers lies."""

from collections.abc import Sequence


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share (0 to 1) of the numbers lies, interpolated. `ordered`: sorted, not empty."""
    position = (len(ordered) - 1) * share
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
