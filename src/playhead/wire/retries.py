"""For requests that fail: the error that says when to try again, waiting, warnings, and a hint about wrong ports.

Used by whatever sends to a collector or to another destination. A sender raises `Unavailable` with the seconds that the
receiver asks to wait (`Retry-After`). `ProblemReporter` reports each kind of problem once. `Clock` can be replaced, so
that tests need not wait.
"""

import logging
import time
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger("playhead")


class Unavailable(Exception):
    """Nothing can be delivered now. With `retry_is_useless`, the next few seconds will not change that: do not wait."""

    def __init__(self, cause: str, sentence: str, *, retry_after: float = 0.0, retry_is_useless: bool = False):
        super().__init__(sentence)
        self.cause = cause
        self.retry_after = retry_after
        self.retry_is_useless = retry_is_useless


class Flag(Protocol):
    """What a clock waits for: `threading.Event`, or a flag that may be set anywhere (`playhead.kernel.bell`)."""

    def is_set(self) -> bool:
        """Whether it is set."""
        ...

    def wait(self, seconds: float, /) -> bool:
        """Waits until it is set, at most `seconds`. Returns whether it is set."""
        ...


class Clock(Protocol):
    """The time, and waiting. Tests use a clock that never waits."""

    def now(self) -> float:
        """The time in seconds, from an arbitrary start: only differences between two calls are meaningful."""
        ...

    def wait(self, event: Flag, seconds: float) -> None:
        """Waits until the event is set, at most `seconds`."""
        ...


class SystemClock:
    """The system's clock."""

    def now(self) -> float:
        """See Clock."""
        return time.monotonic()

    def wait(self, event: Flag, seconds: float) -> None:
        """See Clock."""
        event.wait(seconds)


class ProblemReporter:
    """Reports each kind of problem once: a collector that is down all day is one line in the user's log."""

    def __init__(self, tell: Callable[[str], None] | None = None):
        """`tell` takes one sentence; without it, the sentence is logged."""
        self._tell = tell or log.warning
        self._warned_causes: set[str] = set()

    def warn_once_per_cause(self, cause: str, sentence: str) -> None:
        """Reports the sentence unless one with the same cause was reported."""
        if cause not in self._warned_causes:
            self._warned_causes.add(cause)
            self._tell(sentence)


def grpc_hint(error: BaseException) -> str:
    """Returns a hint to append to the message of an HTTP request's error, if the answer was not HTTP/1.1, such as that
    of a gRPC port; empty for any other error."""
    if not str(error).startswith("illegal "):  # messages of h11: illegal request line, illegal status line
        return ""
    return "; what answers there speaks no HTTP/1.1: if that is the port for gRPC (4317), name the one for HTTP (4318)"
