"""store → [live]: wakes the streams that clients follow when there are new events.  One reader for all clients."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.live.channel import Channel
from playhead_collector.live.reading import StreamReader
from playhead_collector.store.ports import Store
from playhead_collector.throttled_log import ThrottledLog

log = ThrottledLog(logging.getLogger(__name__))

# Interval of polling, because notifications are lost while the database is down, and behind poolers that drop them.
_POLL_SECONDS = 2.0
# Pause between two reads, plus an amount for each client: writing to one takes 100 us, so 500 clients take half a core.
_GAP_SECONDS, _GAP_PER_CLIENT = 0.02, 0.000_2
_RETRY_SECONDS = "5"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """Limits of live streams; `settings.py` has the reasons. Times are in seconds."""

    most: int = 500
    heartbeat_seconds: float = 15.0
    stream_seconds: float = 900.0
    memory_bytes: int = 64 * 1024 * 1024


class LiveHub:
    """All streams of a project that clients follow."""

    def __init__(
        self, store: Store, project_id: int, limits: StreamLimits, *, poll_seconds: float = _POLL_SECONDS
    ) -> None:
        self.limits = limits
        self.is_closing = False
        self.clients = 0
        self._store, self._project_id = store, project_id
        self._poll_seconds = poll_seconds
        self._channels: dict[str | None, Channel] = {}
        self._news: set[str | None] = set()
        self._woken = asyncio.Event()
        self._opening = asyncio.Lock()
        self._loop: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Ends all streams; the last message asks the clients to reconnect."""
        self.is_closing = True
        for channel in self._channels.values():
            channel.wake()

    async def stop(self) -> None:
        """Ends all streams and the reader."""
        self.close()
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.cancel()
            await asyncio.wait([loop])

    @asynccontextmanager
    async def follow(self, run: str | None) -> AsyncGenerator[Channel]:
        """Returns the stream of a run, or of all runs (None), for one client, until the block ends.

        Raises Refused: 503 when there are too many clients, 404 when the run is not stored; StoreUnavailable.
        """
        if self.clients >= self.limits.most or self.is_closing:
            raise _too_many()
        self.clients += 1
        try:
            channel = await self._channel(run)
            channel.followers += 1
            try:
                yield channel
            finally:
                channel.followers -= 1
                if not channel.followers and self._channels.get(run) is channel:
                    del self._channels[run]
        finally:
            self.clients -= 1

    async def _channel(self, run: str | None) -> Channel:
        async with self._opening:
            existing = self._channels.get(run)
            if existing is not None:
                return existing
            reader = StreamReader(self._store, self._project_id, run)
            base = await reader.beginning()
            if base is None:
                raise Refused(404, "no_such_run", f"there is no run {run!r}: `playhead runs` lists them")
            channel = Channel(self._store, reader, base, self._memory)
            self._channels[run] = channel
            try:
                await channel.advance()
            except BaseException:
                del self._channels[run]
                raise
            if self._loop is None or self._loop.done():
                self._loop = asyncio.create_task(self._work(), name="playhead live reader")
            return channel

    def _memory(self) -> int:
        return self.limits.memory_bytes // max(len(self._channels), 1)

    # --- the reader -------------------------------------------------------------------------------------------------

    def _on_change(self, project_id: int, runs: Sequence[str]) -> None:
        if project_id == self._project_id:
            self._note({None, *runs})

    def _note(self, runs: set[str | None]) -> None:
        self._news |= runs & self._channels.keys()
        if self._news:
            self._woken.set()

    async def _work(self) -> None:
        async with self._store.listening(self._on_change):
            while self._channels:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._poll_seconds):
                        await self._woken.wait()
                await self._read_news()
                await asyncio.sleep(_GAP_SECONDS + _GAP_PER_CLIENT * self.clients)

    async def _read_news(self) -> None:
        try:
            if not self._woken.is_set():
                await self._poll()
            self._woken.clear()
            while self._news:
                run = self._news.pop()
                if (channel := self._channels.get(run)) is not None:
                    await channel.advance()
        except StoreUnavailable as error:
            log.warning("live streams wait for the store: %s", error)
        except Exception as error:  # the streams of other runs go on
            log.warning("reading for live streams failed, please report this; going on", exc_info=error)

    async def _poll(self) -> None:
        """Marks the runs with news that no notification announced."""
        newest = await self._store.positions(self._project_id, [run for run in self._channels if run is not None])
        for run, channel in self._channels.items():
            seen = channel.head.change if run is None or channel.run is None else channel.run.projection
            if newest.get(run) != seen or channel.is_ending:
                self._news.add(run)


def _too_many() -> Refused:
    return Refused(
        503,
        "too_many_streams",
        "there are as many live streams as are allowed: come back later, or raise PLAYHEAD_MAX_STREAMS",
        {"Retry-After": _RETRY_SECONDS},
    )
