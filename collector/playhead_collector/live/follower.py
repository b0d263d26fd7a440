"""[live] → serve: the messages for one client of a stream."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Final

from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.live.hub import Channel, LiveHub, TooSlow
from playhead_collector.live.messages import HEARTBEAT, StreamOptions, StreamPosition, message

# How long a browser waits until it connects again, in ms.
_RETRY = b"retry: 1000\n"
# Reasons for the end of a stream after which a client need not reconnect.
FINAL: Final = frozenset({"ended", "deleted", "limit"})


@dataclass(slots=True)
class Follower:
    """One client. `turn` limits its reads from the database of batches that are not in memory."""

    hub: LiveHub
    channel: Channel
    position: StreamPosition
    view: StreamOptions
    turn: Callable[[], AbstractAsyncContextManager[None]]
    limit: int | None = None
    clock: Callable[[], float] = monotonic

    def is_done(self) -> bool:
        """Whether the run has ended and the client has received everything."""
        return self.channel.is_over and self.position.seq is None and self.position.change >= self.channel.head.change

    async def messages(self) -> AsyncGenerator[bytes]:
        """Yields messages as bytes until the stream ends; the last message has the reason."""
        yield _RETRY + b"id: %b\n\n" % str(self.position).encode()  # where a client continues that is cut off now
        until = self.clock() + self.hub.limits.stream_seconds
        is_catching_up = True
        while True:
            version = self.channel.version
            reason = self._over(until)
            if reason is None:
                try:
                    chunk = await self._next(is_catching_up)
                except TooSlow:
                    reason = "too_slow"
                except (StoreUnavailable, Refused):
                    reason = "unavailable"
                else:
                    if chunk is not None:
                        yield chunk
                        continue
                    is_catching_up = is_catching_up and self.position != self.channel.head
            if reason is not None:
                yield self._end(reason)
                return
            seconds = min(self.hub.limits.heartbeat_seconds, max(until - self.clock(), 0.0))
            if not await self.channel.wait(version, seconds):
                yield HEARTBEAT

    async def _next(self, is_catching_up: bool) -> bytes | None:
        """Returns the next messages; None if there are none yet."""
        batch = await self.channel.after(self.position, self.turn() if is_catching_up else None)
        if batch is None:
            return None
        chunk = await self.channel.chunk(batch, self.view)
        self.position = batch.after
        if self.limit is None:
            return chunk.data
        ends = list(islice(chunk.ends, self.limit))
        self.limit -= len(ends)
        return chunk.data if self.limit or not ends else chunk.data[: ends[-1]]

    def _over(self, until: float) -> str | None:
        """Returns the reason if the stream ends now, else None."""
        if self.limit == 0:
            return "limit"
        if self.channel.is_gone:
            return "deleted"
        if self.is_done():
            return "ended"
        if self.hub.is_closing:
            return "stopping"
        return "time" if self.clock() >= until else None

    def _end(self, reason: str) -> bytes:
        run = self.channel.run
        after = None
        if reason == "ended" and run is not None:
            after = StreamPosition(run.projection)  # later projections may have changed no event
        last = {"reason": reason, "status": None if run is None else run.status, "reconnect": reason not in FINAL}
        return message(last, after, "end")
