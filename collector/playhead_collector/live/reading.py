"""store → [live]: reads the messages that follow a position of a stream."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from playhead.model.event import RunEvent
from playhead_collector.live.messages import LiveMessage, MessageBatch, StreamPosition, position_expired
from playhead_collector.store.ports.changes import ChangeReader, ChangeStore, RunChange, RunHead

# Events in one batch: two stored pages. Batches end at multiples of it where possible, so that clients that began at
# different events share them.
BATCH_EVENTS = 512
# Changes that are read at a time: as many as the projector's largest transaction makes.
_CHANGES = 64


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Result of a read after a position: the batch (None: nothing is new), whether it is the last one for now, and the
    run's current state (None: it is not stored, or the stream is of all runs)."""

    batch: MessageBatch | None
    is_all: bool
    head: RunHead | None


@dataclass(frozen=True, slots=True)
class StreamReader:
    """Reads the stream of a run, or of all runs of a project (`run` None)."""

    changes: ChangeStore
    project_id: int
    run: str | None

    async def beginning(self, since_ns: int | None = None) -> StreamPosition | None:
        """Returns the position of a new client. In the stream of a run: before its first event (None: it is not
        stored).

        In the stream of all runs: after everything that is known, or after everything that was known before `since_ns`
        (ns since 1970).
        """
        async with self.changes.reading(self.project_id) as reader:
            if self.run is None:
                if since_ns is None:
                    return StreamPosition(max(await reader.newest(), await reader.removed()))
                return StreamPosition(max(await reader.before(since_ns), await reader.removed()))
            head = await reader.head(self.run)
            return None if head is None else StreamPosition(head.projection, 0, is_replay=True)

    async def check(self, position: StreamPosition) -> None:
        """Raises Refused (410) if changes after this position are no longer stored; StoreUnavailable."""
        async with self.changes.reading(self.project_id) as reader:
            head = None if self.run is None else await reader.head(self.run)
            if head is not None and head.projection == position.change and (position.seq is None or position.is_replay):
                return  # nothing followed
            removed = await reader.removed()
            if position.change < removed or (position.change == removed and position.seq is not None):
                raise position_expired()

    async def after(self, position: StreamPosition) -> ReadBatch:
        """Returns the messages after a position that `check` accepted. Raises StoreUnavailable."""
        async with self.changes.reading(self.project_id) as reader:
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
        events = await _found(reader, self.run, seqs, moves)
        items = [LiveMessage(StreamPosition(position.change, seq, is_replay=True), event) for seq, event in events]
        ends_here = upto >= last
        after = StreamPosition(position.change, None if ends_here else upto, is_replay=not ends_here)
        return ReadBatch(MessageBatch(items, after), ends_here and not later, head)

    # --- changes by projections -------------------------------------------------------------------------------------

    async def _changed(self, reader: ChangeReader, position: StreamPosition, head: RunHead | None) -> ReadBatch:
        before = position.change - (position.seq is not None)
        changes = await reader.changes(self.run, before, _CHANGES)
        if not changes:
            is_behind = head is not None and (position.seq is not None or position.change < head.projection)
            batch = MessageBatch((), StreamPosition(head.projection)) if head is not None and is_behind else None
            return ReadBatch(batch, True, head)
        moves = await reader.moves({run_change.run for run_change in changes}, changes[0].projection)
        items: list[LiveMessage] = []
        done = position
        for change in changes:
            is_begun = change.projection == position.change
            sent = position.seq or 0 if is_begun else 0
            seqs = [seq for seq in _new(change) if seq > sent]
            room = BATCH_EVENTS - len(items)
            if len(seqs) > room and items:
                return ReadBatch(MessageBatch(items, done), False, head)
            later = [
                run_change
                for run_change in moves
                if run_change.run == change.run and run_change.projection > change.projection
            ]
            if not is_begun:
                items += await _corrections(reader, change, later, done)
            new = await _found(reader, change.run, seqs[:BATCH_EVENTS], later, own=self.run is None)
            items += [LiveMessage(StreamPosition(change.projection, seq), event) for seq, event in new]
            if len(seqs) > BATCH_EVENTS:
                after = StreamPosition(change.projection, seqs[BATCH_EVENTS - 1])
                return ReadBatch(MessageBatch(items, after), False, head)
            done = StreamPosition(change.projection)
        return ReadBatch(MessageBatch(items, done), len(changes) < _CHANGES, head)


async def _corrections(
    reader: ChangeReader, change: RunChange, later: Sequence[RunChange], done: StreamPosition
) -> list[LiveMessage]:
    """Returns the messages about events that were sent before and that the change moved or altered. Their position is
    that before the change: a client that is cut off among them gets them again."""
    items: list[LiveMessage] = []
    if change.was is not None:
        items.append(LiveMessage(done, moved=(change.run, change.first)))
    altered = await _found(reader, change.run, change.altered, later)
    return items + [LiveMessage(done, event, changed=True) for _, event in altered]


async def _found(
    reader: ChangeReader, run: str, seqs: Iterable[int], later: Iterable[RunChange], *, own: bool = False
) -> list[tuple[int, RunEvent]]:
    """Returns (seq, event) for the events that had these seqs before the changes `later`. Events that are gone are left
    out; with `own`, also events that a fork shares with another run."""
    now = seqs_now(seqs, later)
    events: dict[int, RunEvent] = {}
    for first, last in _ranges(now.values()):
        events |= {event.seq: event for event in await reader.events(run, first - 1, last)}
    pairs = ((then, events[seq]) for then, seq in now.items() if seq in events)
    return [(then, event) for then, event in pairs if not own or event.run == run]


def seqs_now(seqs: Iterable[int], later: Iterable[RunChange]) -> Mapping[int, int]:
    """Returns for each of these seqs the event's seq after the changes `later`. Events that are gone are left out.
    Pure."""
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
    """Returns the numbers as ranges (first, last) without gaps."""
    for _, group in groupby(enumerate(sorted(seqs)), key=lambda pair: pair[1] - pair[0]):
        numbers = [seq for _, seq in group]
        yield numbers[0], numbers[-1]
