"""Counts the open connections, by client address, and ends those that are past their deadline.

The limits and deadlines come from the settings; `settings.py` has the reasons.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from playhead_collector.settings import KIB, MIB, CollectorSettings

# Bytes that a client must receive within `send_seconds`, unless fewer are waiting: 13 kB/s with the default of 20 s.
MIN_TAKEN = 256 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of connections. Times in seconds."""

    max_connections: int = 1_000
    max_connections_per_client: int = 400
    max_head_bytes: int = 32 * KIB
    head_seconds: float = 10
    body_seconds: float = 60
    send_seconds: float = 20
    idle_seconds: float = 75
    max_dropped_bytes: int = 64 * MIB
    """Most bytes of a body that are still read after its request was refused: most clients read the answer only after
    they have sent everything."""

    @property
    def reserve(self) -> int:
        """Connections above the limit that still get answers: probes as usual, all others a 503."""
        return max(1, self.max_connections // 2)


def limits_of(settings: CollectorSettings) -> Limits:
    """Returns the limits that the operator set."""
    return Limits(
        max_connections=settings.max_connections,
        max_connections_per_client=settings.max_connections_per_client,
        max_head_bytes=settings.max_head_bytes,
        head_seconds=settings.head_seconds,
        body_seconds=settings.body_seconds,
        send_seconds=settings.send_seconds,
        idle_seconds=settings.idle_seconds,
        max_dropped_bytes=settings.max_request_bytes,
    )


# Interval of checking deadlines, which may be exceeded by this much. A check of 1,000 connections takes a third of a
# ms.
SWEEP_SECONDS = 1.0


class Admission(Enum):
    """Decision about a new connection."""

    TAKEN = auto()
    PROBES_ONLY = auto()
    DROP = auto()


class GuardedConnection(Protocol):
    """A connection as the guard uses it."""

    def check_deadlines(self, now: float) -> None:
        """Ends the connection if it is past a deadline; `now` is in seconds of the guard's clock."""
        ...


class Guard:
    """Counts connections and ends those that take too long.

    `is_busy(path)` returns whether requests to this path are refused now. `on_answer(route, status)` is called for
    every answer that does not come from the application. `clock` gives seconds.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        is_busy: Callable[[str], bool] = lambda _: False,
        on_answer: Callable[[str, int], None] = lambda _, __: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.is_busy = is_busy
        self.on_answer = on_answer
        self.clock = clock
        self._open: dict[GuardedConnection, str] = {}
        self._by_client = Counter[str]()
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: GuardedConnection, client: str) -> Admission:
        """Counts a connection, unless the result is DROP. `client` is an address without a port."""
        limits, count = self.limits, len(self._open)
        if count >= limits.max_connections + limits.reserve:
            return Admission.DROP
        self._open[connection] = client
        self._by_client[client] += 1
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)
        if count >= limits.max_connections or self._by_client[client] > limits.max_connections_per_client:
            return Admission.PROBES_ONLY
        return Admission.TAKEN

    def counts(self, connection: GuardedConnection) -> tuple[int, int, str]:
        """Returns the number of open connections, the number of this client's connections, and its address."""
        client = self._open.get(connection, "")
        return len(self._open), self._by_client[client], client

    def forget(self, connection: GuardedConnection) -> None:
        """Removes a connection that has ended."""
        client = self._open.pop(connection, None)
        if client is not None:
            self._by_client[client] -= 1
            if not self._by_client[client]:
                del self._by_client[client]

    def check_deadlines(self) -> None:
        """Ends the connections that are past a deadline."""
        now = self.clock()
        for connection in list(self._open):
            connection.check_deadlines(now)

    def _sweep(self) -> None:
        self._sweeping = None
        self.check_deadlines()
        if self._open:
            self._sweeping = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)
