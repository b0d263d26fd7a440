"""senders → [attempts] → delivery, worker.  What a response means for the items sent, and how long to wait.  Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from playhead.outbound.answers import Verdict, one_line, shown_reason
from playhead.wire.delays import delay_s, jittered, retry_after_s

# With jitter. The first pause, 1 to 2 s, covers a restart of a small server; the longest one is how long a person waits
# after a repair.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2.0, 300.0
# Longest delay that a destination may ask for: a longer one is a mistake, or needs an operator anyway.
LONGEST_RETRY_AFTER_SECONDS = 3_600.0
# Keys and addresses have to be corrected by people, so retrying sooner is useless.
MISCONFIGURED_PAUSE_SECONDS = 30.0
_MOST_REASON = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. `rejected` is the number of items in an accepted request that were rejected."""

    verdict: Verdict
    reason: str = ""
    retry_after_s: float | None = None
    rejected: int = 0


def backoff_s(failures: int, answer: Answer) -> float:
    """Returns the seconds to wait after `failures` failures in a row: exponential backoff with random jitter (so that
    several collectors do not retry together), and at least as long as the destination asks for."""
    wait = jittered(delay_s(failures, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))
    if answer.verdict is Verdict.MISCONFIGURED:
        wait = max(wait, MISCONFIGURED_PAUSE_SECONDS)
    return max(wait, answer.retry_after_s or 0.0)


def retry_after(text: str | None, now_s: float) -> float | None:
    """Returns the seconds of a `Retry-After` header (a number or a date); None if it is missing or invalid."""
    return retry_after_s(text, now_s, LONGEST_RETRY_AFTER_SECONDS)


def without_secrets(answer: Answer, headers: Iterable[str]) -> Answer:
    """Returns the answer with a reason that may be shown: shortened, and without the values of the sent headers."""
    return replace(answer, reason=shown_reason(answer.reason, headers, _MOST_REASON))


def shortened(reason: str) -> str:
    """Returns the reason as one line of printable text, of limited length."""
    return one_line(reason)[:_MOST_REASON]
