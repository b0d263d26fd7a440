"""[journal]: durations of recent work, for `playhead.counters()`."""

from collections import deque

# Enough for a 99th percentile, and some kilobytes.
_KEPT = 512


class Latencies:
    """The last durations of one kind of work.  Safe for threads: at worst one is missing."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_KEPT)

    def add(self, seconds: float) -> None:
        """Adds one duration."""
        self._seconds.append(seconds)

    def summary(self) -> dict[str, float] | None:
        """Median, 99th percentile and maximum of the last durations, in milliseconds; None if there are none."""
        durations = sorted(self._seconds.copy())
        if not durations:
            return None
        return {
            "p50": durations[len(durations) // 2] * 1e3,
            "p99": durations[min(len(durations) - 1, len(durations) * 99 // 100)] * 1e3,
            "max": durations[-1] * 1e3,
        }


READING = Latencies()
"""Durations of reading pieces of the journal in this process, for delivery and for `playhead.read_local`."""
