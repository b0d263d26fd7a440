"""Memory budget for request bodies while they arrive and for responses while they are sent.

When it is full, the transfer that has taken longest is stopped: a slow sender cannot keep others out.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playhead_collector.errors import Refused

RETRY_SECONDS = 1
# No transfer is stopped earlier than this: even the largest body arrives within it at 13 MB/s.
SLOW_AFTER_SECONDS = 5.0


def try_later(why: str) -> Refused:
    """Returns a 503 with Retry-After."""
    return Refused(503, "busy", f"{why}: send it again a little later", {"Retry-After": str(RETRY_SECONDS)})


@dataclass(eq=False, slots=True)
class Transfer:
    """A transfer in progress. `since` is the time when it began, in seconds of the event loop's clock."""

    budget: "TransferBudget"
    since: float
    bytes: int = 0
    was_cancelled: bool = False
    deadline: asyncio.Timeout | None = None

    def hold(self, size: int) -> None:
        """Sets the bytes that the transfer holds. Raises Refused (503) when there is no room, unless it is the only
        one."""
        self.budget.hold(self, size)

    def cancel(self) -> None:
        """Stops this transfer, because others need the memory."""
        self.was_cancelled = True
        if self.deadline is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time())


@dataclass(slots=True)
class TransferBudget:
    """Transfers in progress (request bodies or responses), oldest first, and their memory budget."""

    max_bytes: int
    slow_after_seconds: float = SLOW_AFTER_SECONDS
    bytes: int = field(default=0, init=False)
    _arriving: dict[Transfer, None] = field(default_factory=dict[Transfer, None], init=False, repr=False)

    @property
    def count(self) -> int:
        """The number of transfers in progress."""
        return len(self._arriving)

    @contextmanager
    def one(self) -> Generator[Transfer]:
        """Registers a transfer until the block ends."""
        arriving = Transfer(self, asyncio.get_running_loop().time())
        self._arriving[arriving] = None
        try:
            yield arriving
        finally:
            self._release(arriving)

    def hold(self, arriving: Transfer, size: int) -> None:
        """See `Transfer.hold`."""
        if arriving.was_cancelled:
            return
        while (others := self.bytes - arriving.bytes) and others + size > self.max_bytes:
            slowest = next(transfer for transfer in self._arriving if transfer.bytes or transfer is arriving)
            if slowest is arriving or not self._is_slow(slowest):
                raise try_later(f"{others} bytes of others are on their way")
            self._release(slowest)
            slowest.cancel()
        self.bytes += size - arriving.bytes
        arriving.bytes = size

    def _is_slow(self, arriving: Transfer) -> bool:
        return asyncio.get_running_loop().time() - arriving.since > self.slow_after_seconds

    def _release(self, arriving: Transfer) -> None:
        if arriving in self._arriving:
            del self._arriving[arriving]
            self.bytes -= arriving.bytes
            arriving.bytes = 0
