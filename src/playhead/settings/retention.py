"""How long the journal keeps what was delivered: from an hour to 30 days."""

from datetime import timedelta
from math import ceil

from playhead.settings.table import ValueKind

# An hour: a program that failed can still be resumed and looked at. 30 days: payloads do not lie around for ever.
MIN_SECONDS, MAX_SECONDS = 3_600.0, 2_592_000.0


def retention_seconds(value: object) -> int:
    """Whole seconds of a number of seconds or a timedelta.  Raises TypeError, and ValueError when out of bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float, timedelta)):
        raise TypeError
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError
    return ceil(seconds)


RETENTION = ValueKind(
    "a number of seconds, from 3600 (an hour) to 2592000 (30 days)", lambda text: float(retention_seconds(float(text)))
)
