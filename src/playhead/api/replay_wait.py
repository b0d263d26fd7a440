"""How long a call of a resumed run waits for other branches, whose calls decide what it is."""

import time
from collections.abc import Callable

# Where the process gets no processor for a second, or is stopped, the others have not had that second either.
_MOST_AT_A_LOOK_SECONDS = 0.02
# Branches that never come to rest must not keep a changed call waiting for ever.
_MOST_TIMES = 10


class Patience:
    """Lasts until the other branches have done nothing for so many seconds, and ten times that at most."""

    def __init__(self, seconds: float, progress: int, now: Callable[[], float] = time.monotonic):
        """`progress`: a number that is another one when other branches have done something."""
        self._seconds = seconds
        self._progress = progress
        self._now = now
        self._looked = now()
        self._idle = self._waited = 0.0

    def lasts(self, progress: int) -> bool:
        """Whether to go on waiting; to be asked every few milliseconds."""
        now = self._now()
        passed, self._looked = min(now - self._looked, _MOST_AT_A_LOOK_SECONDS), now
        self._idle = passed if progress != self._progress else self._idle + passed
        self._progress = progress
        self._waited += passed
        return self._idle < self._seconds and self._waited < self._seconds * _MOST_TIMES
