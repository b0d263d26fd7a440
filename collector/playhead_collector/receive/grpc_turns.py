"""Limits how many gRPC messages arrive at a time, so that slow senders do not keep others out.

    quick turn ──(0.25 s)──▶ long turn ──(5 s, when others wait)──▶ gives way

gRPC's library keeps a message in memory until it is complete and does not say how much of it has arrived. So the memory
is bounded by the number of messages that are read at a time. A message that is not being read waits at its sender:
HTTP/2 lets a sender send 64 KiB that nobody has read.

Whether a message is large or its sender slow is not known before the message is complete. So a message begins with a
quick turn, in which most are complete. Others need one of the few long turns. A sender whose last message was not quick
waits for a long turn, so that slow senders take no quick turns from others. When others wait, long turns are taken
first from senders that gave way before. A sender that wasted its turn (it gave way or cancelled the call) comes after
others. Of senders that are alike in this, those with the fewest turns come first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Final, TypeVar

from playhead_collector.errors import Refused
from playhead_collector.receive.transfer_budget import SLOW_AFTER_SECONDS, try_later

# --- senders ---------------------------------------------------------------------------------------------------------

# Seconds for which a slow message counts against its sender; and the number of senders that are remembered.
_REMEMBERED_SECONDS: Final = 60.0
_MOST_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class MessageSender:
    """A client's connection, and the address of the client."""

    host: str
    connection: str

    @classmethod
    def of(cls, peer: str) -> "MessageSender":
        """Returns the sender for gRPC's `peer`: `ipv4:127.0.0.1:50000`, `ipv6:%5B::1%5D:50000`."""
        host, _, _ = peer.rpartition(":")
        return cls(host or peer, peer)


@dataclass(slots=True)
class SlowSenderMemory:
    """Remembers which senders' messages arrived, arrived slowly or never arrived: the last 10,000 of each kind, for a
    minute."""

    _slow: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)
    _in_vain: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)
    _proven: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)

    def was_slow(self, sender: MessageSender) -> bool:
        """Whether the last message of this connection took longer than a quick turn."""
        return _is_marked(self._slow, sender.connection)

    def penalty(self, sender: MessageSender) -> int:
        """Returns the sender's rank; lower ranks come first. 0: normal. 1: a turn of its address was in vain, and no
        message of this connection has arrived yet. 2: the last turn of this connection was in vain."""
        if _is_marked(self._in_vain, sender.connection):
            return 2
        return int(_is_marked(self._in_vain, sender.host) and not _is_marked(self._proven, sender.connection))

    def took_long(self, sender: MessageSender) -> None:
        """Notes that a message took longer than a quick turn."""
        _add_mark(self._slow, sender.connection)

    def had_turn_in_vain(self, sender: MessageSender) -> None:
        """Notes that a message arrived too slowly and was refused, or never arrived because the call was cancelled."""
        _add_mark(self._in_vain, sender.connection)
        _add_mark(self._in_vain, sender.host)

    def completed(self, sender: MessageSender, *, quickly: bool) -> None:
        """Notes that a message arrived."""
        self._in_vain.pop(sender.connection, None)
        _add_mark(self._proven, sender.connection)
        if quickly:
            self._slow.pop(sender.connection, None)


def _add_mark(marks: dict[str, float], key: str) -> None:
    marks.pop(key, None)  # moves the key to the end: the oldest is first
    marks[key] = monotonic() + _REMEMBERED_SECONDS
    if len(marks) > _MOST_REMEMBERED:
        del marks[next(iter(marks))]


def _is_marked(marks: dict[str, float], key: str) -> bool:
    until = marks.get(key)
    if until is None:
        return False
    if until < monotonic():
        del marks[key]
        return False
    return True


# --- the queue for turns ---------------------------------------------------------------------------------------------

# Interval for checking again: `make_room` may end a turn now, though it did not before.
_RECHECK_SECONDS = 1.0


@dataclass(eq=False, slots=True)
class MessageTurn:
    """A message that is being read. `since` is the time when its turn began, in seconds of the event loop's clock."""

    sender: MessageSender
    since: float
    was_cancelled: bool = False
    deadline: asyncio.Timeout | None = None

    def cancel(self) -> None:
        """Stops reading the message."""
        self.was_cancelled = True
        if self.deadline is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time())


@dataclass(eq=False, slots=True)
class _Waiter:
    sender: MessageSender
    order: int
    turn: "asyncio.Future[MessageTurn]"


@dataclass(slots=True)
class FairQueue:
    """Grants up to `size` turns at a time; up to `max_waiting` senders wait for one.

    `make_room(sender)` is called when all turns are taken: it may end one of them, and returns whether it did.
    """

    size: int
    max_waiting: int
    slow: SlowSenderMemory
    make_room: Callable[[MessageSender], bool] = lambda _: False
    running: dict[MessageTurn, None] = field(default_factory=dict[MessageTurn, None], init=False, repr=False)
    _waiting: list[_Waiter] = field(default_factory=list[_Waiter], init=False, repr=False)
    _order: "count[int]" = field(default_factory=count, init=False, repr=False)

    @property
    def waiting(self) -> int:
        """The number of senders that wait."""
        return len(self._waiting)

    async def take(self, sender: MessageSender, seconds: float) -> MessageTurn:
        """Waits for a turn; `end` gives it back. Raises Refused (503) when there is none within `seconds`."""
        loop = asyncio.get_running_loop()
        last = loop.time() + seconds
        waiter = _Waiter(sender, next(self._order), loop.create_future())
        self._waiting.append(waiter)
        self.grant_turns()
        if not waiter.turn.done():
            self._refuse_surplus()
        try:
            while not waiter.turn.done():
                remaining = last - loop.time()
                if remaining <= 0:
                    raise self._no_turn()
                await asyncio.wait([waiter.turn], timeout=min(remaining, _RECHECK_SECONDS))
                self.grant_turns()
            return waiter.turn.result()
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.exception():
                self.end(waiter.turn.result())
            raise
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def end(self, turn: MessageTurn) -> None:
        """Ends a turn and gives its place to the next sender."""
        self.running.pop(turn, None)
        self.grant_turns()

    def add(self, turn: MessageTurn) -> bool:
        """Adds a turn that began in another queue, ahead of those who wait. Returns False when there is no place."""
        if len(self.running) >= self.size and not self.make_room(turn.sender):
            return False
        self.running[turn] = None
        return True

    def grant_turns(self) -> None:
        """Gives turns to waiting senders while there are free ones."""
        while self._waiting:
            waiter = min(self._waiting, key=self._urgency)
            if len(self.running) >= self.size and not self.make_room(waiter.sender):
                return
            self._waiting.remove(waiter)
            turn = MessageTurn(waiter.sender, asyncio.get_running_loop().time())
            self.running[turn] = None
            waiter.turn.set_result(turn)

    def _urgency(self, waiter: _Waiter) -> tuple[int, int, int, int]:
        sender = waiter.sender
        same_connection = sum(turn.sender == sender for turn in self.running)
        same_host = sum(turn.sender.host == sender.host for turn in self.running)
        return self.slow.penalty(sender), same_connection, same_host, waiter.order

    def _refuse_surplus(self) -> None:
        """Refuses one waiting sender when too many wait: a slow one, or one of the sender with the most waiting
        messages."""
        if len(self._waiting) > self.max_waiting:
            last = max(self._waiting, key=self._surplus)
            self._waiting.remove(last)
            last.turn.set_exception(self._no_turn())

    def _surplus(self, waiter: _Waiter) -> tuple[int, int, int, int]:
        sender = waiter.sender
        same_connection = sum(other.sender == sender for other in self._waiting)
        same_host = sum(other.sender.host == sender.host for other in self._waiting)
        return self.slow.penalty(sender), same_connection, same_host, waiter.order

    def _no_turn(self) -> Exception:
        return try_later(f"{self.waiting + len(self.running)} messages are on their way")


# --- quick and long turns --------------------------------------------------------------------------------------------

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
    slow: SlowSenderMemory = field(default_factory=SlowSenderMemory, init=False)
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
        queue = self.long if self.slow.was_slow(sender) else self.quick
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
            if turn.was_cancelled:
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
                turn.cancel()
            self.quick.end(turn)

    def _make_room(self, sender: MessageSender) -> bool:
        """Ends the long turn of a sender with a higher rank, or of one with the same rank that has taken longer than
        normal. Returns whether it ended one."""
        rank, now = self.slow.penalty(sender), asyncio.get_running_loop().time()
        ended, worst = None, (rank, now - self.slow_after_seconds)
        for turn in self.long.running:
            this = self.slow.penalty(turn.sender), turn.since
            if this[0] > worst[0] or (this[0] == worst[0] and this[1] < worst[1]):
                ended, worst = turn, this
        if ended is None:
            return False
        del self.long.running[ended]
        self.slow.had_turn_in_vain(ended.sender)
        ended.cancel()
        return True
