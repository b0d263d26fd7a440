"""store → [live]: reads the messages that follow a position of a stream."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from playhead.model.event import RunEvent
from playhead_collector.live.messages import Item, MessageBatch
from playhead_collector.live.positions import StreamPosition, too_old
from playhead_collector.store.ports.changes import ChangeReader, ChangeStore, RunChange, RunHead

# Events in one batch: two of the pages in which they are stored. Batches begin at multiples of it where they can, so
# that clients that began at different events share them.
BATCH_EVENTS = 512
# Changes that are read at a time: those of the projector's largest transaction.
_CHANGES = 64


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """What was read after a position: a batch (None: there is nothing new), whether that is all, and the run as it is
    (None: it is not stored, or the stream is of all runs)."""

    batch: MessageBatch | None
    is_all: bool
    head: RunHead | None


@dataclass(frozen=True, slots=True)
class StreamReader:
    """Reads the stream of a run, or of all runs of a project (`run` None)."""

    store: ChangeStore
    project_id: int
    run: str | None

    async def beginning(self, since_ns: int | None = None) -> StreamPosition | None:
        """The position of a new client: before the first event of a run (None: it is not stored).

        In the stream of all runs: behind all that is known, or behind what was known before the time `since_ns`.
        """
        async with self.store.reading_changes(self.project_id) as reader:
            if self.run is None:
                if since_ns is None:
                    return StreamPosition(max(await reader.newest(), await reader.removed()))
                return StreamPosition(max(await reader.before(since_ns), await reader.removed()))
            head = await reader.head(self.run)
            return None if head is None else StreamPosition(head.projection, 0, is_replay=True)

    async def check(self, position: StreamPosition) -> None:
        """Raises Refused (410) when what follows this position is not known any more; StoreUnavailable."""
        async with self.store.reading_changes(self.project_id) as reader:
            head = None if self.run is None else await reader.head(self.run)
            if head is not None and head.projection == position.change and (position.seq is None or position.is_replay):
                return  # nothing followed
            removed = await reader.removed()
            if position.change < removed or (position.change == removed and position.seq is not None):
                raise too_old()

    async def after(self, position: StreamPosition) -> ReadBatch:
        """The messages that follow a position that `check` has passed. Raises StoreUnavailable."""
        async with self.store.reading_changes(self.project_id) as reader:
            head = None if self.run is None else await reader.head(self.run)
            if position.is_replay:
                return await self._replayed(reader, position, head)
            return await self._changed(reader, position, head)

    # --- all events of a run ----------------------------------------------------------------------------------------

    async def _replayed(self, reader: ChangeReader, position: StreamPosition, head: RunHead | None) -> ReadBatch:
        if self.run is None or head is None:
            return ReadBatch(None, True, head)
        later = await reader.changes(self.run, position.change, 1)
        last, begun = later[0].known if later else head.events, position.seq or 0
        upto = min(last, (begun // BATCH_EVENTS + 1) * BATCH_EVENTS)
        seqs = range(begun + 1, upto + 1)
        moves = await reader.moves([self.run], position.change) if later else ()
        found = await _found(reader, self.run, seqs, moves)
        items = [Item(StreamPosition(position.change, seq, is_replay=True), event) for seq, event in found]
        ends_here = upto >= last
        after = StreamPosition(position.change, None if ends_here else upto, is_replay=not ends_here)
        return ReadBatch(MessageBatch(items, after), ends_here and not later, head)

    # --- what projections changed -----------------------------------------------------------------------------------

    async def _changed(self, reader: ChangeReader, position: StreamPosition, head: RunHead | None) -> ReadBatch:
        before = position.change - (position.seq is not None)
        found = await reader.changes(self.run, before, _CHANGES)
        if not found:
            is_behind = head is not None and (position.seq is not None or position.change < head.projection)
            batch = MessageBatch((), StreamPosition(head.projection)) if head is not None and is_behind else None
            return ReadBatch(batch, True, head)
        moves = await reader.moves({each.run for each in found}, found[0].projection)
        items: list[Item] = []
        done = position
        for change in found:
            is_begun = change.projection == position.change
            sent = position.seq or 0 if is_begun else 0
            seqs = [seq for seq in _new(change) if seq > sent]
            room = BATCH_EVENTS - len(items)
            if len(seqs) > room and items:
                return ReadBatch(MessageBatch(items, done), False, head)
            later = [each for each in moves if each.run == change.run and each.projection > change.projection]
            if not is_begun:
                items += await _corrections(reader, change, later, done)
            new = await _found(reader, change.run, seqs[:BATCH_EVENTS], later, own=self.run is None)
            items += [Item(StreamPosition(change.projection, seq), event) for seq, event in new]
            if len(seqs) > BATCH_EVENTS:
                after = StreamPosition(change.projection, seqs[BATCH_EVENTS - 1])
                return ReadBatch(MessageBatch(items, after), False, head)
            done = StreamPosition(change.projection)
        return ReadBatch(MessageBatch(items, done), len(found) < _CHANGES, head)


async def _corrections(
    reader: ChangeReader, change: RunChange, later: Sequence[RunChange], done: StreamPosition
) -> list[Item]:
    """What the change did to events that were sent before.  A client that is cut off among these gets them again."""
    items: list[Item] = []
    if change.was is not None:
        items.append(Item(done, moved=(change.run, change.first)))
    altered = await _found(reader, change.run, change.altered, later)
    return items + [Item(done, event, changed=True) for _, event in altered]


async def _found(
    reader: ChangeReader, run: str, seqs: Iterable[int], later: Iterable[RunChange], *, own: bool = False
) -> list[tuple[int, RunEvent]]:
    """The events that had these seqs before the changes `later`, with those seqs.  Events that are gone are left out;
    with `own`, also those that a fork shares with another run."""
    now = seqs_now(seqs, later)
    events: dict[int, RunEvent] = {}
    for first, last in _ranges(now.values()):
        events |= {event.seq: event for event in await reader.events(run, first - 1, last)}
    found = ((then, events[seq]) for then, seq in now.items() if seq in events)
    return [(then, event) for then, event in found if not own or event.run == run]


def seqs_now(seqs: Iterable[int], later: Iterable[RunChange]) -> Mapping[int, int]:
    """For each of these seqs, the event's seq after the changes `later`.  Events that are gone are left out.  Pure."""
    now = {seq: seq for seq in seqs}
    for change in later:
        if change.was is not None:
            moved = {was: seq for seq, was in enumerate(change.was, change.first) if was}
            now = {then: moved.get(seq, 0) if seq >= change.first else seq for then, seq in now.items()}
            now = {then: seq for then, seq in now.items() if seq}
    return now


def _new(change: RunChange) -> Iterable[int]:
    if change.was is None:
        return range(change.known + 1, change.last + 1)
    return [seq for seq, was in enumerate(change.was, change.first) if not was]


def _ranges(seqs: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The numbers as ranges (first, last) without gaps."""
    for _, group in groupby(enumerate(sorted(seqs)), key=lambda pair: pair[1] - pair[0]):
        numbers = [seq for _, seq in group]
        yield numbers[0], numbers[-1]
