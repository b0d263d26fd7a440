"""How well a share is known from how often something happened."""

from math import sqrt
from typing import Final

_Z: Final = 1.959963984540054  # of 95 %


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Returns the 95 % Wilson score interval of the share `hits / of`, from 0 to 1. `of` is at least 1."""
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
