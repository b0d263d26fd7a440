"""[live]: the stream of a run, or of all runs, with its recent messages in memory for all clients that follow it."""

import asyncio
from contextlib import AbstractAsyncContextManager, suppress

from playhead_collector.live.messages import MessageBatch
from playhead_collector.live.positions import StreamPosition
from playhead_collector.live.reading import StreamReader
from playhead_collector.read.previews import previews_of
from playhead_collector.store.ports import Store
from playhead_collector.store.ports.changes import RunHead

# Previews are read in these lengths, and cut to what a client asked for.
_PREVIEW_LENGTHS = (200, 1_000, 10_000)
# Batches in memory: some 25 s of a run that grows all the time.
_MOST_BATCHES = 256


class TooSlow(Exception):
    """A client did not take messages for so long that they are not in memory any more."""


class Channel:
    """A stream that is followed.  `base`: where the first client began; `head`: up to where messages were read."""

    def __init__(self, store: Store, reader: StreamReader, base: StreamPosition) -> None:
        self.reader = reader
        self.base = base
        self.head = StreamPosition(base.change)
        self.followers = 0
        self.run: RunHead | None = None
        self.is_gone = False
        self.version = 0
        """Another one after each change of `head`, `run` and `is_gone`."""
        self._store = store
        self._batches: dict[StreamPosition, MessageBatch] = {}
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

    async def advance(self, most_bytes: int) -> None:
        """Reads what is new, and wakes the clients. Keeps about `most_bytes` in memory.  Raises StoreUnavailable."""
        async with self._lock:
            while True:
                read = await self.reader.after(self.head)
                self.run, self.is_gone = read.head, self.reader.run is not None and read.head is None
                if read.batch is not None:
                    self._batches[self.head] = read.batch
                    self.head = read.batch.after
                    self._shrink(most_bytes)
                if read.is_all:
                    break
        self.wake()

    def wake(self) -> None:
        """Ends the waiting of all clients."""
        self.version += 1
        self._woken.set()
        self._woken = asyncio.Event()

    async def wait(self, version: int, seconds: float) -> bool:
        """Waits until something is other than at this `version`; False after so many seconds."""
        if version == self.version:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
        return version != self.version

    async def after(
        self, position: StreamPosition, turn: AbstractAsyncContextManager[None] | None = None
    ) -> MessageBatch | None:
        """The batch behind this position; None: there is none yet.

        `turn` is entered to read what is not in memory.  Without it, raises TooSlow.  Raises StoreUnavailable.
        """
        if (batch := self._batches.get(position)) is not None:
            return batch
        if position == self.head:
            return None
        if turn is None:
            raise TooSlow
        async with self._behind:  # clients that are behind wait for each other: most want the same, and share it
            if position == self.head or position in self._batches:
                return self._batches.get(position)
            async with turn:
                batch = (await self.reader.after(position)).batch
            if batch is not None:
                self._batches[position] = batch
            return batch

    async def with_previews(self, batch: MessageBatch, length: int) -> None:
        """Reads the previews of a batch, once for all clients.  Raises StoreUnavailable."""
        if length <= batch.preview_length:
            return
        async with self._lock:
            if length > batch.preview_length:
                wanted = next(each for each in _PREVIEW_LENGTHS if each >= length)
                batch.previews = await previews_of(self._store, self.reader.project, batch.events, wanted)
                batch.preview_length = wanted

    def _shrink(self, most_bytes: int) -> None:
        total = sum(batch.memory_bytes for batch in self._batches.values())
        for position in list(self._batches)[:-1]:
            if total <= most_bytes and len(self._batches) <= _MOST_BATCHES:
                return
            total -= self._batches.pop(position).memory_bytes
