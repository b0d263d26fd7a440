"""How long to wait before something that failed is tried again: delays that double, and `Retry-After`. Pure.

Used by both halves, for requests, for the journal's disk and for the database. Callers own their loop: these functions
do not wait.
"""

from collections.abc import Iterator
from itertools import count
from random import SystemRandom

_FIRST_SECONDS, _MAX_SECONDS = 0.2, 30.0
# 2**64 times the first delay is more than any longest one; and a float cannot be multiplied by 2**1024.
_MOST_DOUBLINGS = 64
# Not the generator of `random`: a program that seeds that one must get the numbers that it expects.
_random = SystemRandom()


def delay_s(failures: int, first_s: float, longest_s: float) -> float:
    """Returns the seconds to wait after `failures` failures in a row: `first_s` after the first one, twice as long
    after each further one, and at most `longest_s`."""
    doublings = min(max(failures, 1) - 1, _MOST_DOUBLINGS)
    return min(first_s * 2**doublings, longest_s)


def jittered(seconds: float) -> float:
    """Returns a random delay between half of `seconds` and `seconds`, so that many senders do not retry together."""
    return seconds * _random.uniform(0.5, 1.0)


def backoff_delays() -> Iterator[float]:
    """Yields the seconds to wait before each retry of a request, without end: from 0.2 s to 30 s, with jitter."""
    return (jittered(delay_s(failures, _FIRST_SECONDS, _MAX_SECONDS)) for failures in count(1))


def retry_after_s(text: str | None, now_s: float, longest_s: float) -> float | None:
    """Returns the seconds that a `Retry-After` header asks to wait, between 0 and `longest_s`.

    `text` is a number of seconds, or a date, which is compared with `now_s` (seconds since 1970). None if it is missing
    or cannot be read.
    """
    # 4 ms, which a program that only records need not spend when it starts.
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    text = (text or "").strip()
    try:
        if text.isdecimal():
            seconds = float(text)
        else:
            date = parsedate_to_datetime(text)
            if date.tzinfo is None:  # whose time this is, is unknown
                return None
            seconds = date.timestamp() - now_s
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), longest_s)
