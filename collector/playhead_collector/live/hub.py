"""store → [hub] → follower.  One reader for all clients: wakes the streams that they follow when there are new events.

The stream of a run, or of all runs, has its recent messages in memory for all clients that follow it.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass

from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.live.messages import MessageBatch, MessageBytes, StreamOptions, StreamPosition
from playhead_collector.live.reading import StreamReader
from playhead_collector.logs import ThrottledLog
from playhead_collector.read.events import previews_of
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.changes import ChangeStore, RunHead

log = ThrottledLog(logging.getLogger(__name__))
# Previews are read in one of these lengths, and cut to the length that a client asked for.
_PREVIEW_LENGTHS = (200, 1_000, 10_000)
# Most batches in memory: some 25 s of a run that grows all the time.
_MOST_BATCHES = 256


class TooSlow(Exception):
    """A client was so slow that its next messages are no longer in memory."""


class Channel:
    """A stream with followers. `base` is where the first client began; `head` is the position up to which messages were
    read.

    `most_bytes()` bounds the memory of kept messages: live ones, and those that were read for clients that are behind
    (at most half of it). The oldest are dropped first; the newest live batch always stays.
    """

    def __init__(
        self, store: ReadStore, reader: StreamReader, base: StreamPosition, most_bytes: Callable[[], int]
    ) -> None:
        self.reader = reader
        self.base = base
        self.head = StreamPosition(base.change)
        self.followers = 0
        self.run: RunHead | None = None
        self.is_gone = False
        self.version = 0
        """Changes whenever `head`, `run` or `is_gone` may have changed."""
        self._store = store
        self._most_bytes = most_bytes
        # Batches by the position before them, oldest first: live ones, and those that were read for clients that are
        # behind.
        self._live: dict[StreamPosition, MessageBatch] = {}
        self._read: dict[StreamPosition, MessageBatch] = {}
        self._lock = asyncio.Lock()
        self._behind = asyncio.Lock()
        self._woken = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.run is not None and self.run.is_over

    @property
    def is_ending(self) -> bool:
        """Whether the run has ended, but parts of its record may still arrive."""
        return self.run is not None and not self.run.is_over and self.run.status != "running"

    @property
    def memory_bytes(self) -> int:
        """Approximate memory of the kept messages, in bytes."""
        return _bytes_of(self._live) + _bytes_of(self._read)

    async def read_new(self) -> None:
        """Reads new messages and wakes the clients. Raises StoreUnavailable."""
        async with self._lock:
            while True:
                read = await self.reader.after(self.head)
                self.run, self.is_gone = read.head, self.reader.run is not None and read.head is None
                if read.batch is not None:
                    self._live[self.head] = read.batch
                    self.head = read.batch.after
                    self._shrink()
                if read.is_all:
                    break
        self.wake()

    def wake(self) -> None:
        """Wakes all waiting clients."""
        self.version += 1
        self._woken.set()
        self._woken = asyncio.Event()

    async def wait(self, version: int, seconds: float) -> bool:
        """Waits until the version differs from `version`. Returns False after `seconds`."""
        if version == self.version:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
        return version != self.version

    async def after(
        self, position: StreamPosition, turn: AbstractAsyncContextManager[None] | None = None
    ) -> MessageBatch | None:
        """Returns the batch after this position; None if there is none yet.

        `turn` is entered to read batches that are not in memory. Without it, raises TooSlow. Raises StoreUnavailable.
        """
        if (batch := self._kept(position)) is not None or position == self.head:
            return batch
        if turn is None:
            raise TooSlow
        async with self._behind:  # one read at a time: most clients that are behind want the same batch
            if (batch := self._kept(position)) is not None or position == self.head:
                return batch
            async with turn:
                batch = (await self.reader.after(position)).batch
            if batch is not None:
                self._read[position] = batch
                self._shrink()
            return batch

    async def chunk(self, batch: MessageBatch, options: StreamOptions) -> MessageBytes:
        """Returns the messages of a batch for this view. The result is shared by all clients with this view.

        Raises StoreUnavailable.
        """
        if options.preview > batch.preview_length:
            async with self._lock:
                if options.preview > batch.preview_length:
                    wanted = next(length for length in _PREVIEW_LENGTHS if length >= options.preview)
                    batch.previews = await previews_of(self._store, self.reader.project_id, batch.events, wanted)
                    batch.preview_length = wanted
        elif (made := batch.made(options)) is not None:
            return made
        chunk = batch.chunk(options)
        self._shrink()
        return chunk

    def _kept(self, position: StreamPosition) -> MessageBatch | None:
        return self._live.get(position) or self._read.get(position)

    def _shrink(self) -> None:
        most_bytes, live, read = self._most_bytes(), _bytes_of(self._live), _bytes_of(self._read)
        while live + read > most_bytes or len(self._live) + len(self._read) > _MOST_BATCHES:
            if self._read and (read > most_bytes // 2 or len(self._live) <= 1):
                read -= self._read.pop(next(iter(self._read))).memory_bytes
            elif len(self._live) > 1:
                live -= self._live.pop(next(iter(self._live))).memory_bytes
            else:
                return


def _bytes_of(batches: Mapping[StreamPosition, MessageBatch]) -> int:
    return sum(batch.memory_bytes for batch in batches.values())


# --- the streams of a project ----------------------------------------------------------------------------------------

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


Followed = tuple[int, str | None]
"""A project, and one of its runs; None: all of its runs."""


class LiveHub:
    """All streams that clients follow."""

    def __init__(
        self,
        store: ReadStore,
        changes: ChangeStore,
        limits: StreamLimits,
        *,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        self.limits = limits
        self.is_closing = False
        self.clients = 0
        self._store, self._changes = store, changes
        self._poll_seconds = poll_seconds
        self._channels: dict[Followed, Channel] = {}
        self._news: set[Followed] = set()
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
    async def follow(self, project_id: int, run: str | None) -> AsyncGenerator[Channel]:
        """Returns the stream of a run, or of all runs of the project (None), for one client, until the block ends.

        Raises Refused: 503 when there are too many clients, 404 when the run is not stored; StoreUnavailable.
        """
        if self.clients >= self.limits.most or self.is_closing:
            raise _too_many()
        self.clients += 1
        followed = project_id, run
        try:
            channel = await self._channel(followed)
            channel.followers += 1
            try:
                yield channel
            finally:
                channel.followers -= 1
                if not channel.followers and self._channels.get(followed) is channel:
                    del self._channels[followed]
        finally:
            self.clients -= 1

    async def _channel(self, followed: Followed) -> Channel:
        async with self._opening:
            existing = self._channels.get(followed)
            if existing is not None:
                return existing
            project_id, run = followed
            reader = StreamReader(self._changes, project_id, run)
            base = await reader.beginning()
            if base is None:
                raise Refused(404, "no_such_run", f"there is no run {run!r}: `playhead runs` lists them")
            channel = Channel(self._store, reader, base, self._memory)
            self._channels[followed] = channel
            try:
                await channel.read_new()
            except BaseException:
                del self._channels[followed]
                raise
            if self._loop is None or self._loop.done():
                self._loop = asyncio.create_task(self._work(), name="playhead live reader")
            return channel

    def _memory(self) -> int:
        return self.limits.memory_bytes // max(len(self._channels), 1)

    # --- the reader -------------------------------------------------------------------------------------------------

    def _on_change(self, project_id: int, runs: Sequence[str]) -> None:
        self._note({(project_id, None), *((project_id, run) for run in runs)})

    def _note(self, changed: set[Followed]) -> None:
        self._news |= changed & self._channels.keys()
        if self._news:
            self._woken.set()

    async def _work(self) -> None:
        async with self._changes.listening(self._on_change):
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
                if (channel := self._channels.get(self._news.pop())) is not None:
                    await channel.read_new()
        except StoreUnavailable as error:
            log.warning("live streams wait for the store: %s", error)
        except Exception as error:  # the streams of other runs go on
            log.warning("reading for live streams failed, please report this; going on", exc_info=error)

    async def _poll(self) -> None:
        """Marks the runs with news that no notification announced."""
        for project_id in {project_id for project_id, _ in self._channels}:
            runs = [run for owner, run in self._channels if owner == project_id and run is not None]
            newest = await self._changes.positions(project_id, runs)
            for followed, channel in self._channels.items():
                owner, run = followed
                seen = channel.head.change if run is None or channel.run is None else channel.run.projection
                if owner == project_id and (newest.get(run) != seen or channel.is_ending):
                    self._news.add(followed)


def _too_many() -> Refused:
    return Refused(
        503,
        "too_many_streams",
        "there are as many live streams as are allowed: come back later, or raise PLAYHEAD_MAX_STREAMS",
        {"Retry-After": _RETRY_SECONDS},
    )
