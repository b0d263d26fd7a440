"""senders → [attempts] → delivery, worker.  What an answer means for what was sent, and how long to wait.  Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from enum import Enum

from tenacity import AsyncRetrying, RetryCallState, wait_exponential_jitter

from playhead.outbound.reasons import one_line, shown_reason

# The first pause is as short as a restart of a small server; the longest one is what a person waits for after repair.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 300.0
# What a destination may ask for: longer is a mistake, or means that somebody has to look.
LONGEST_RETRY_AFTER_SECONDS = 3_600.0
# Keys and addresses are mended by people.
MISCONFIGURED_PAUSE_SECONDS = 30.0
_MOST_REASON = 500
_BACKOFF = wait_exponential_jitter(initial=FIRST_PAUSE_SECONDS, max=LONGEST_PAUSE_SECONDS, jitter=1.0)
_NOBODY = AsyncRetrying()


class Verdict(Enum):
    """What an answer says."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """Something in the request cannot be taken, now or later."""
    BROKEN = "broken"
    """The destination failed: at all times, or at this request."""
    AWAY = "away"
    """It cannot be reached, or asks to come back later."""
    MISCONFIGURED = "misconfigured"
    """It takes nothing from us, whatever it is: key, address or rights are wrong."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. `rejected`: the number of items in an accepted request that were not taken."""

    verdict: Verdict
    reason: str = ""
    retry_after_s: float | None = None
    rejected: int = 0


def of_status(status: int) -> Verdict:
    """What an HTTP status says."""
    match status:
        case 200 | 201 | 202 | 204:
            return Verdict.ACCEPTED
        case 408 | 425 | 429 | 502 | 503 | 504:
            return Verdict.AWAY
        case 400 | 413 | 422:
            return Verdict.REFUSED
        case _ if status >= 500 and status != 501:
            return Verdict.BROKEN
        case _:
            # Keys, paths, methods; and redirects, which are not followed: they could lead anywhere.
            return Verdict.MISCONFIGURED


def pause_s(failures: int, answer: Answer) -> float:
    """Seconds to wait after so many failures in a row: longer each time, by chance a little different for each of
    several collectors, and at least as long as the destination asks for."""
    state = RetryCallState(_NOBODY, None, (), {})
    state.attempt_number = max(failures, 1)
    wait = min(_BACKOFF(state), LONGEST_PAUSE_SECONDS)
    if answer.verdict is Verdict.MISCONFIGURED:
        wait = max(wait, MISCONFIGURED_PAUSE_SECONDS)
    return max(wait, answer.retry_after_s or 0.0)


def retry_after(text: str | None, now_s: float) -> float | None:
    """Seconds from a `Retry-After` header: a number, or a date; None when there is none that can be read."""
    if not text:
        return None
    try:
        seconds = float(text) if text.strip().isdigit() else parsedate_to_datetime(text).timestamp() - now_s
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_SECONDS)


def without_secrets(answer: Answer, headers: Iterable[str]) -> Answer:
    """The answer with a reason that may be shown: short, and without the values of headers that were sent."""
    return replace(answer, reason=shown_reason(answer.reason, headers, _MOST_REASON))


def shortened(reason: str) -> str:
    """One line of printable text."""
    return one_line(reason)[:_MOST_REASON]
