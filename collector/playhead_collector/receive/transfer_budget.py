"""Memory budget for request bodies while they arrive and for responses while they are sent.

When it is full, whoever has been sending for longest gives way: a sender that trickles cannot keep others out.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playhead_collector.errors import Refused

RETRY_SECONDS = 1
# Nobody gives way before this: an honest body arrives within it, at 13 MB/s even the largest.
SLOW_AFTER_SECONDS = 5.0


def try_later(why: str) -> Refused:
    """503, and when to try again."""
    return Refused(503, "busy", f"{why}: send it again a little later", {"Retry-After": str(RETRY_SECONDS)})


@dataclass(eq=False, slots=True)
class Transfer:
    """A body that arrives; `since` is the loop's time when it began."""

    budget: "TransferBudget"
    since: float
    bytes: int = 0
    gave_way: bool = False
    deadline: asyncio.Timeout | None = None

    def hold(self, size: int) -> None:
        """So many bytes of it are here. Raises Refused: 503 when there is no room, unless it is the only one."""
        self.budget.hold(self, size)

    def give_way(self) -> None:
        """Others need the room."""
        self.gave_way = True
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
        """How many there are."""
        return len(self._arriving)

    @contextmanager
    def one(self) -> Generator[Transfer]:
        """Room for one body, for as long as it arrives."""
        arriving = Transfer(self, asyncio.get_running_loop().time())
        self._arriving[arriving] = None
        try:
            yield arriving
        finally:
            self._release(arriving)

    def hold(self, arriving: Transfer, size: int) -> None:
        """See `Transfer.hold`."""
        if arriving.gave_way:
            return
        while (others := self.bytes - arriving.bytes) and others + size > self.max_bytes:
            slowest = next(one for one in self._arriving if one.bytes or one is arriving)
            if slowest is arriving or not self._is_slow(slowest):
                raise try_later(f"{others} bytes of others are on their way")
            self._release(slowest)
            slowest.give_way()
        self.bytes += size - arriving.bytes
        arriving.bytes = size

    def _is_slow(self, arriving: Transfer) -> bool:
        return asyncio.get_running_loop().time() - arriving.since > self.slow_after_seconds

    def _release(self, arriving: Transfer) -> None:
        if arriving in self._arriving:
            del self._arriving[arriving]
            self.bytes -= arriving.bytes
            arriving.bytes = 0
