"""Limits how many gRPC messages arrive at a time, so that slow senders do not keep others out.

    quick turn ──(0.25 s)──▶ long turn ──(5 s, when others wait)──▶ gives way

gRPC's library keeps a message in memory until it is complete and does not say how much of it has arrived. So the memory
is bounded by the number of messages that are read at a time. A message that is not being read waits at its sender:
HTTP/2 lets a sender send 64 KiB that nobody has read.

Whether a message is large or its sender slow is not known before the message is complete. So a message begins with a
quick turn, in which most are complete. Others need one of the few long turns. A sender whose last message was not quick
waits for a long turn, so that slow senders take no quick turns from others. When others wait, long turns are taken
first from senders that gave way before. A sender that wasted its turn (it gave way or cancelled the call) comes after
others (see `senders.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from playhead_collector.errors import Refused
from playhead_collector.receive.fair_queue import FairQueue, MessageTurn
from playhead_collector.receive.senders import MessageSender, SlowSenders
from playhead_collector.receive.transfer_budget import SLOW_AFTER_SECONDS, try_later

# Number of messages that may take long. At the largest size of 64 MiB, they take at most 256 MiB.
LONG_TURNS = 4
# Together they take as much memory as the network delivers in a quarter of a second.
QUICK_TURNS = 16
QUICK_SECONDS = 0.25
# A sender waits this long for its turn: half of the 10 s after which exporters give up.
WAIT_SECONDS = 5.0

_T = TypeVar("_T")


@dataclass(slots=True)
class MessageTurns:
    """Reads each message within `body_seconds`. Up to `max_waiting` senders wait for a quick turn, and as many for a
    long one."""

    body_seconds: float
    max_waiting: int
    long_turns: int = LONG_TURNS
    quick_turns: int = QUICK_TURNS
    quick_seconds: float = QUICK_SECONDS
    wait_seconds: float = WAIT_SECONDS
    slow_after_seconds: float = SLOW_AFTER_SECONDS
    slow: SlowSenders = field(default_factory=SlowSenders, init=False)
    quick: FairQueue = field(init=False)
    long: FairQueue = field(init=False)

    def __post_init__(self) -> None:
        self.quick = FairQueue(self.quick_turns, self.max_waiting, self.slow)
        self.long = FairQueue(self.long_turns, self.max_waiting, self.slow, self._make_room)

    @property
    def reading(self) -> int:
        """The number of messages that are arriving."""
        return len(self.quick.running) + len(self.long.running)

    @property
    def waiting(self) -> int:
        """The number of messages that wait to be read."""
        return self.quick.waiting + self.long.waiting

    async def read(self, message: Callable[[], Awaitable[_T]], sender: MessageSender) -> _T:
        """Waits for a turn, then awaits `message()` and returns its result.

        Raises Refused: 408 when the message does not arrive in time, 503 when it has to give way or gets no turn; and
        errors of `message`. A message that does not arrive counts against its sender, also when the call is cancelled.
        """
        queue = self.long if self.slow.is_late(sender) else self.quick
        try:
            turn = await queue.take(sender, self.wait_seconds)
        except asyncio.CancelledError:
            self.slow.had_turn_in_vain(sender)
            raise
        loop = asyncio.get_running_loop()
        overtime = loop.call_later(self.quick_seconds, self._took_long, turn)
        try:
            async with asyncio.timeout(self.body_seconds) as turn.deadline:
                arrived = await message()
        except TimeoutError:
            if turn.gave_way:
                raise try_later("others wait and this message arrives slowly") from None
            self.slow.had_turn_in_vain(sender)
            slow = f"the message did not arrive within {self.body_seconds:g} s"
            raise Refused(408, "too_slow", f"{slow}: send the request again") from None
        except (asyncio.CancelledError, Refused):
            self.slow.had_turn_in_vain(sender)
            raise
        else:
            self.slow.completed(sender, quickly=loop.time() - turn.since <= self.quick_seconds)
            return arrived
        finally:
            overtime.cancel()
            self.quick.end(turn)
            self.long.end(turn)

    def _took_long(self, turn: MessageTurn) -> None:
        self.slow.took_long(turn.sender)
        if turn in self.quick.running:
            if not self.long.add(turn):
                turn.give_way()
            self.quick.end(turn)

    def _make_room(self, sender: MessageSender) -> bool:
        """Ends the long turn of a sender with a higher rank, or of one with the same rank that has taken longer than
        normal. Returns whether it ended one."""
        rank, now = self.slow.rank(sender), asyncio.get_running_loop().time()
        ended, worst = None, (rank, now - self.slow_after_seconds)
        for turn in self.long.running:
            this = self.slow.rank(turn.sender), turn.since
            if this[0] > worst[0] or (this[0] == worst[0] and this[1] < worst[1]):
                ended, worst = turn, this
        if ended is None:
            return False
        del self.long.running[ended]
        self.slow.had_turn_in_vain(ended.sender)
        ended.give_way()
        return True
