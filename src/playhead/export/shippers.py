"""journal → [shippers] → ship. Combines the shippers of this process, one per destination. Each has its own thread, so
a destination that is down holds up no other.

The journal may free what every destination has acknowledged.
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from playhead.export.counters import ShipCounters
from playhead.export.ship import Shipper
from playhead.journal.lane import Position

_BEGIN = Position(1, 0)

MakeShipper = Callable[[Callable[[Position], None], Callable[[int], None]], Shipper]


class Shippers:
    """Same interface as `Shipper`, for several shippers. Only the first one's counters are public, and only it frees
    space."""

    def __init__(
        self,
        makes: Sequence[MakeShipper],
        on_acknowledged: Callable[[Position], None],
        on_delivered_from_memory: Callable[[int], None],
    ):
        """`makes`: functions, at least one, that make a shipper each. They get two functions for the shipper to call:
        with an acknowledged position, and with the place up to which it has delivered from memory."""
        self._on_acknowledged = on_acknowledged
        self._on_delivered_from_memory = on_delivered_from_memory
        self._mutex = threading.Lock()
        self._acked: list[Position] = []
        self._from_memory: list[int] = []
        self._members: list[Shipper] = []
        for make in makes:
            self.add(make)

    @property
    def counters(self) -> ShipCounters:
        """Counters of the first destination."""
        return self._members[0].counters

    @property
    def members(self) -> Sequence[Shipper]:
        """The shippers, one per destination."""
        return tuple(self._members)

    def add(self, make: MakeShipper) -> Shipper:
        """Adds a destination, whose lane may have begun already, and returns its shipper."""
        self._acked.append(_BEGIN)
        self._from_memory.append(0)
        number = len(self._acked) - 1
        member = make(partial(self._note, number), partial(self._note_from_memory, number))
        self._members.append(member)
        return member

    def start(self) -> None:
        """See `Shipper`."""
        for member in self._members:
            member.start()

    def wake(self) -> None:
        """See `Shipper`."""
        for member in self._members:
            member.wake()

    def hurry(self) -> None:
        """See `Shipper`."""
        for member in self._members:
            member.hurry()

    def follow(self, lane_path: Path) -> None:
        """See `Shipper`."""
        self._acked = [_BEGIN] * len(self._members)
        for member in self._members:
            member.follow(lane_path)

    def also_deliver(self, lanes: Sequence[Path]) -> None:
        """See `Shipper`."""
        for member in self._members:
            member.also_deliver(lanes)

    def flush(self, timeout_s: float) -> bool:
        """Returns whether every destination has everything. See `Shipper`."""
        return self._each(lambda member, seconds: member.flush(seconds), timeout_s)

    def stop(self, timeout_s: float) -> bool:
        """See `Shipper`."""
        return self._each(lambda member, seconds: member.stop(seconds), timeout_s)

    def restart_after_fork(self, lane_path: Path | None) -> None:
        """See `Shipper`."""
        self._mutex = threading.Lock()
        self._acked = [_BEGIN] * len(self._members)
        self._from_memory = [0] * len(self._members)
        for member in self._members:
            member.restart_after_fork(lane_path)

    def _each(self, call: Callable[[Shipper, float], bool], timeout_s: float) -> bool:
        """Calls `call` for each shipper with an equal part of the remaining time; all of them work meanwhile. Returns
        whether all calls returned True."""
        deadline = time.monotonic() + timeout_s
        for member in self._members[1:]:  # while the first one is waited for, the others work, too
            member.flush(0.0)
        done = True
        for number, member in enumerate(self._members):
            remaining = max(0.0, deadline - time.monotonic())
            done = call(member, remaining / (len(self._members) - number)) and done
        return done

    def _note(self, number: int, position: Position) -> None:
        with self._mutex:
            self._acked[number] = position
            released = min(self._acked)
        self._on_acknowledged(released)

    def _note_from_memory(self, number: int, upto: int) -> None:
        with self._mutex:
            self._from_memory[number] = upto
            released = min(self._from_memory)
        self._on_delivered_from_memory(released)
