"""ingest → [pacing] → worker.  Forwarding gives way to ingest, which runs in the same process.

While spans arrive, each portion of work is followed by a pause of the same length. The load of the process and of the
event loop during the pause shows whether ingest needs the processor: if so, the pause grows until forwarding takes only
a small share of the time. Unsent entries stay in the outbox. Without arrivals there are no pauses.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

# Programs send every second or so; rarer arrivals leave the processor idle.
_RECENT_S = 1.5
# Shortest pause that the event loop measures well; and the longest one, after which the load is measured again.
_SHORTEST_S, _LONGEST_S = 0.005, 1.0
# A process is busy if other work uses more than this share of a core, or if the event loop wakes later than this.
_BUSY_CORES, _BUSY_LATE_S = 0.5, 0.005


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks in seconds: elapsed time, and processor time of all threads of this process."""

    elapsed: Callable[[], float] = time.monotonic
    processor: Callable[[], float] = time.process_time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class IngestArrivals:
    """Remembers when spans last arrived. Shared by all destinations."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._last_s = -_RECENT_S

    def arrived(self) -> None:
        """Notes that spans were stored now."""
        self._last_s = self._clocks.elapsed()

    def are_recent(self) -> bool:
        """Whether spans arrived within the last 1.5 s."""
        return self._clocks.elapsed() - self._last_s < _RECENT_S


class Pacing:
    """Pauses of one destination's worker. `share` is the share of time that it may work while ingest is busy."""

    def __init__(self, arrivals: IngestArrivals, share: float, clocks: Clocks) -> None:
        self._arrivals = arrivals
        self._share = share
        self._clocks = clocks
        self._began_s = clocks.elapsed()

    def begin(self) -> None:
        """Starts to measure a portion of work: the time before was spent waiting for the destination or for entries."""
        self._began_s = self._clocks.elapsed()

    async def pause_for_ingest(self) -> None:
        """Pauses after a portion of work, if ingest needs the processor."""
        worked_s = self._clocks.elapsed() - self._began_s
        left_s = worked_s / self._share - worked_s
        pause_s = max(worked_s, _SHORTEST_S)
        while self._arrivals.are_recent() and left_s > 0:
            pause_s = min(pause_s, left_s, _LONGEST_S)
            if not await self._is_busy_during(max(pause_s, _SHORTEST_S)):
                break
            left_s -= pause_s
            pause_s *= 2
        self.begin()

    async def _is_busy_during(self, pause_s: float) -> bool:
        began_s, used_s = self._clocks.elapsed(), self._clocks.processor()
        await self._clocks.sleep(pause_s)
        elapsed_s, used_s = self._clocks.elapsed() - began_s, self._clocks.processor() - used_s
        return used_s > elapsed_s * _BUSY_CORES or elapsed_s - pause_s > _BUSY_LATE_S
