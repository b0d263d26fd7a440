"""However a run's events are renumbered, and wherever a client is cut off: it gets every event once."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model.event import RunEvent, StateChanged
from playhead_collector.errors import Refused
from playhead_collector.live.messages import StreamPosition, read_position
from playhead_collector.live.reading import StreamReader
from playhead_collector.store.ports.changes import RunChange, RunHead
from playhead_collector.store.postgres.changes import difference

PROJECT, RUN = 1, "a" * 32


def event(name: str, seq: int, data: int = 0) -> RunEvent:
    return StateChanged(id=name, run=RUN, seq=seq, time_ns=1, key=str(data))


@dataclass
class Journal:
    """A store of one run and its changes, in memory."""

    events: list[RunEvent] = field(default_factory=list)
    changes: list[RunChange] = field(default_factory=list)
    projection: int = 0
    removed_upto: int = 0

    def becomes(self, named: Sequence[tuple[str, int]], *, whole: bool = True) -> None:
        """The run is projected: these are its events, by name and data. `whole`: all earlier ones are compared."""
        after = [event(name, seq, data) for seq, (name, data) in enumerate(named, 1)]
        before = {each.seq: each for each in self.events}
        if not whole:  # as the store does, which reads only pages that are other than before
            same = {each.seq for each in after[: len(self.events) // 2] if before.get(each.seq) == each}
            before = {seq: each for seq, each in before.items() if seq not in same}
        found = difference(before, len(self.events), after, 0, 0)
        self.projection += 1
        if found.changes_events:
            change = RunChange(self.projection, RUN, found.first, found.last, found.known, found.altered, found.was)
            self.changes.append(change)
        self.events = after

    @asynccontextmanager
    async def reading(self, project_id: int) -> AsyncGenerator["Reader"]:
        assert project_id == PROJECT
        yield Reader(self)


@dataclass
class Reader:
    """What a `ChangeReader` does, on a journal."""

    journal: Journal

    async def removed(self) -> int:
        return self.journal.removed_upto

    async def newest(self) -> int:
        return max((each.projection for each in self.journal.changes), default=0)

    async def before(self, time_ns: int) -> int:
        return 0

    async def head(self, run: str) -> RunHead | None:
        return RunHead(self.journal.projection, len(self.journal.events), "running", False)

    async def changes(self, run: str | None, after: int, limit: int) -> Sequence[RunChange]:
        return [each for each in self.journal.changes if each.projection > after][:limit]

    async def moves(self, runs: Iterable[str], after: int) -> Sequence[RunChange]:
        return [each for each in self.journal.changes if each.projection > after and each.was is not None]

    async def events(self, run: str, after: int, upto: int) -> Sequence[RunEvent]:
        return self.journal.events[after:upto]


@dataclass
class Client:
    """A client that keeps a copy of the run. `seen`: ids in the order in which they came."""

    reader: StreamReader
    position: StreamPosition
    seen: list[str] = field(default_factory=list)
    copy: dict[str, RunEvent] = field(default_factory=dict)

    async def catch_up(self, cut_after: int | None = None) -> None:
        """Receives what there is, or is cut off after so many messages; comes back with the last id as text."""
        left = cut_after
        self.position = read_position(str(self.position))
        while True:
            batch = (await self.reader.after(self.position)).batch
            if batch is None:
                return
            for item in batch.items:
                if left == 0:
                    return
                left = None if left is None else left - 1
                if item.event is not None:
                    assert (item.event.id in self.copy) == item.changed
                    self.copy[item.event.id] = item.event
                    if not item.changed:
                        self.seen.append(item.event.id)
                self.position = item.after
            self.position = batch.after


@st.composite
def _histories(draw: st.DrawFn) -> list[list[tuple[str, int]]]:
    """What a run's events are after each projection: mostly appended, also inserted, moved, removed and changed."""
    now: list[tuple[str, int]] = []
    history: list[list[tuple[str, int]]] = []
    fresh = iter(f"e{n}" for n in range(1_000))
    for _ in range(draw(st.integers(1, 8))):
        for _ in range(draw(st.integers(0, 3))):
            match draw(st.sampled_from(["append", "append", "insert", "swap", "remove", "change"])):
                case "append":
                    now = [*now, (next(fresh), 0)]
                case "insert":
                    at = draw(st.integers(0, len(now)))
                    now = [*now[:at], (next(fresh), 0), *now[at:]]
                case "swap" if len(now) > 1:
                    at = draw(st.integers(0, len(now) - 2))
                    now = [*now[:at], now[at + 1], now[at], *now[at + 2 :]]
                case "remove" if now:
                    at = draw(st.integers(0, len(now) - 1))
                    now = [*now[:at], *now[at + 1 :]]
                case "change" if now:
                    at = draw(st.integers(0, len(now) - 1))
                    now = [*now[:at], (now[at][0], now[at][1] + 1), *now[at + 1 :]]
                case _:
                    pass
        history.append(now)
    return history


@settings(max_examples=300, deadline=None)
@given(
    history=_histories(),
    joins=st.integers(0, 7),
    cuts=st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=8, max_size=8),
    whole=st.booleans(),
)
async def test_every_event_comes_once_however_the_run_is_renumbered(
    history: list[list[tuple[str, int]]], joins: int, cuts: list[int | None], whole: bool
):
    journal = Journal()
    reader = StreamReader(journal, PROJECT, RUN)  # pyright: ignore[reportArgumentType] - as far as it is used
    client: Client | None = None
    for number, named in enumerate(history):
        journal.becomes(named, whole=whole)
        if client is None and number >= min(joins, len(history) - 1):
            beginning = await reader.beginning()
            assert beginning is not None
            client = Client(reader, beginning)
        if client is not None:
            await client.catch_up(cuts[number])
    assert client is not None
    await client.catch_up()
    assert len(client.seen) == len(set(client.seen))
    there = {each.id: each for each in journal.events}
    assert there.keys() <= client.copy.keys()
    # Only seqs may be others: for those there is `moved`.
    assert all(replace(client.copy[name], seq=0) == replace(each, seq=0) for name, each in there.items())


async def test_events_come_in_order_where_nothing_is_late():
    journal = Journal()
    reader = StreamReader(journal, PROJECT, RUN)  # pyright: ignore[reportArgumentType] - as far as it is used
    journal.becomes([(f"e{n}", 0) for n in range(700)])
    beginning = await reader.beginning()
    assert beginning is not None
    client = Client(reader, beginning)
    for last in range(701, 1_500, 61):
        await client.catch_up(cut_after=last % 97)
        journal.becomes([(f"e{n}", 0) for n in range(last)])
    await client.catch_up()
    assert client.seen == [each.id for each in journal.events]


async def test_what_is_not_known_any_more_is_refused():
    journal = Journal()
    reader = StreamReader(journal, PROJECT, RUN)  # pyright: ignore[reportArgumentType] - as far as it is used
    for last in range(1, 4):
        journal.becomes([(f"e{n}", 0) for n in range(last)])
    journal.changes, journal.removed_upto = journal.changes[2:], 2
    await reader.check(StreamPosition(2))
    await reader.check(StreamPosition(3))
    for position in (StreamPosition(1), StreamPosition(2, 1)):
        with pytest.raises(Refused, match="begin anew") as refused:
            await reader.check(position)
        assert refused.value.status == 410


@given(st.integers(0, 10**18 - 1), st.one_of(st.none(), st.integers(0, 10**9 - 1)), st.booleans())
def test_a_position_is_read_as_it_was_written(change: int, seq: int | None, is_replay: bool):
    position = StreamPosition(change, seq, is_replay=is_replay and seq is not None)
    assert read_position(str(position)) == position


@given(st.text(max_size=30))
def test_any_other_id_is_refused(text: str):
    try:
        position = read_position(text)
    except Refused:
        return
    assert read_position(str(position)) == position
