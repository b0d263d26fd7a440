"""Queue for a limited number of turns: senders that were not slow come first, and of these those with fewest turns."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from playhead_collector.receive.senders import MessageSender, SlowSenders
from playhead_collector.receive.transfer_budget import try_later

# Interval for checking again: `make_room` may end a turn now, though it did not before.
_LOOK_AGAIN_SECONDS = 1.0


@dataclass(eq=False, slots=True)
class MessageTurn:
    """A message that is being read. `since` is the time when its turn began, in seconds of the event loop's clock."""

    sender: MessageSender
    since: float
    gave_way: bool = False
    deadline: asyncio.Timeout | None = None

    def give_way(self) -> None:
        """Stops reading the message."""
        self.gave_way = True
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
    slow: SlowSenders
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
        self.hand_out()
        if not waiter.turn.done():
            self._bound()
        try:
            while not waiter.turn.done():
                remaining = last - loop.time()
                if remaining <= 0:
                    raise self._no_turn()
                await asyncio.wait([waiter.turn], timeout=min(remaining, _LOOK_AGAIN_SECONDS))
                self.hand_out()
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
        self.hand_out()

    def add(self, turn: MessageTurn) -> bool:
        """Adds a turn that began in another queue, ahead of those who wait. Returns False when there is no place."""
        if len(self.running) >= self.size and not self.make_room(turn.sender):
            return False
        self.running[turn] = None
        return True

    def hand_out(self) -> None:
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
        return self.slow.rank(sender), same_connection, same_host, waiter.order

    def _bound(self) -> None:
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
        return self.slow.rank(sender), same_connection, same_host, waiter.order

    def _no_turn(self) -> Exception:
        return try_later(f"{self.waiting + len(self.running)} messages are on their way")
