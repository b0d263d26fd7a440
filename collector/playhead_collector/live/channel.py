"""[live]: the stream of a run, or of all runs, with its recent messages in memory for all clients that follow it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress

from playhead_collector.live.messages import Chunk, MessageBatch, View
from playhead_collector.live.positions import StreamPosition
from playhead_collector.live.reading import StreamReader
from playhead_collector.read.previews import previews_of
from playhead_collector.store.ports import Store
from playhead_collector.store.ports.changes import RunHead

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

    def __init__(self, store: Store, reader: StreamReader, base: StreamPosition, most_bytes: Callable[[], int]) -> None:
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

    async def advance(self) -> None:
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

    async def chunk(self, batch: MessageBatch, view: View) -> Chunk:
        """Returns the messages of a batch for this view. The result is shared by all clients with this view.

        Raises StoreUnavailable.
        """
        if view.preview > batch.preview_length:
            async with self._lock:
                if view.preview > batch.preview_length:
                    wanted = next(length for length in _PREVIEW_LENGTHS if length >= view.preview)
                    batch.previews = await previews_of(self._store, self.reader.project_id, batch.events, wanted)
                    batch.preview_length = wanted
        elif (made := batch.made(view)) is not None:
            return made
        chunk = batch.chunk(view)
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
