"""Limits how many gRPC messages arrive at a time.

gRPC's library keeps a message in memory until it is complete and does not say how much of it has arrived. So the memory
is bounded by the number of messages that are read at a time. A message that is not being read waits at its sender:
HTTP/2 lets a sender have 64 KiB on the way that nobody reads.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from playhead_collector.errors import Refused
from playhead_collector.receive.transfer_budget import Transfer, TransferBudget, try_later

# Messages read at a time. With the largest size of 64 MiB, they take at most 256 MiB.
READERS = 4
# A sender waits this long for its turn: half of the 10 s after which exporters give up.
WAIT_SECONDS = 5.0

_T = TypeVar("_T")


@dataclass(slots=True)
class MessageTurns:
    """Up to `readers` messages are read at a time, each within `body_seconds`; up to `max_waiting` others wait.

    When others wait, the message that has taken longest is refused, if it has taken longer than a normal one.
    """

    body_seconds: float
    max_waiting: int
    readers: int = READERS
    wait_seconds: float = WAIT_SECONDS
    waiting: int = field(default=0, init=False)
    reading: TransferBudget = field(init=False)
    _ended: asyncio.Condition = field(default_factory=asyncio.Condition, init=False, repr=False)

    def __post_init__(self) -> None:
        self.reading = TransferBudget(self.readers)  # each message counts 1

    async def read(self, message: Callable[[], Awaitable[_T]]) -> _T:
        """Awaits `message()` when it is its turn.

        Raises Refused: 408 when it does not arrive in time, 503 when it has to give way, or gets no turn.
        """
        async with self._turn() as arriving:
            try:
                async with asyncio.timeout(self.body_seconds) as arriving.deadline:
                    return await message()
            except TimeoutError:
                if arriving.gave_way:
                    raise try_later("others wait and this message arrives slowly") from None
                slow = f"the message did not arrive within {self.body_seconds:g} s"
                raise Refused(408, "too_slow", f"{slow}: send the request again") from None

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[Transfer]:
        loop = asyncio.get_running_loop()
        last = loop.time() + self.wait_seconds
        while True:
            with self.reading.one() as arriving:
                try:
                    arriving.hold(1)
                except Refused:
                    if self.waiting >= self.max_waiting or loop.time() >= last:
                        raise try_later(f"{self.waiting + self.readers} messages are on their way") from None
                else:
                    try:
                        yield arriving
                    finally:
                        await self._notify_one()
                    return
            await self._wait(last - loop.time())

    async def _wait(self, seconds: float) -> None:
        self.waiting += 1
        try:
            # Not longer than a second: one that is being read may have become slow meanwhile.
            async with self._ended, asyncio.timeout(min(max(seconds, 0), 1)):
                await self._ended.wait()
        except TimeoutError:
            pass
        finally:
            self.waiting -= 1

    async def _notify_one(self) -> None:
        async with self._ended:
            self._ended.notify()
