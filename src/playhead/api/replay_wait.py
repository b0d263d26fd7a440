"""Limits how long a call of a resumed run waits for parallel branches before it is matched with the record."""

import time
from collections.abc import Callable

# If the process is stopped or gets no CPU for a second, the other branches could not use that second either.
_MAX_COUNTED_PER_CHECK_SECONDS = 0.02
# Branches that make progress without end must not keep a changed call waiting for ever.
_MAX_WAIT_FACTOR = 10


class BranchWait:
    """Waiting budget: ends when other branches have made no progress for `seconds`, at the latest after ten times
    that."""

    def __init__(self, seconds: float, progress: int, now: Callable[[], float] = time.monotonic):
        """`progress`: a number that changes whenever another branch has done something."""
        self._seconds = seconds
        self._progress = progress
        self._now = now
        self._looked = now()
        self._idle = self._waited = 0.0

    def goes_on(self, progress: int) -> bool:
        """Whether to keep waiting. Call it every few milliseconds."""
        now = self._now()
        passed, self._looked = min(now - self._looked, _MAX_COUNTED_PER_CHECK_SECONDS), now
        self._idle = passed if progress != self._progress else self._idle + passed
        self._progress = progress
        self._waited += passed
        return self._idle < self._seconds and self._waited < self._seconds * _MAX_WAIT_FACTOR
