"""Bounds of the time for which the journal keeps delivered records: from an hour to 30 days."""

from datetime import timedelta
from math import ceil

from playhead.settings.table import ValueKind

# An hour: a failed program can still be inspected and resumed. 30 days: payloads are not kept for ever.
MIN_SECONDS, MAX_SECONDS = 3_600.0, 2_592_000.0


def retention_seconds(value: object) -> int:
    """Converts seconds or a timedelta to whole seconds, rounded up. Raises TypeError, and ValueError out of bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float, timedelta)):
        raise TypeError
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError
    return ceil(seconds)


RETENTION = ValueKind(
    "a number of seconds, from 3600 (an hour) to 2592000 (30 days)", lambda text: float(retention_seconds(float(text)))
)
