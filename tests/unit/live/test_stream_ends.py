"""Why a stream ends and what its client receives meanwhile; how many streams there may be."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from playhead_collector.errors import Refused
from playhead_collector.live import hub as channels
from playhead_collector.live.follower import Follower
from playhead_collector.live.hub import Channel, LiveHub, StreamLimits
from playhead_collector.live.messages import HEARTBEAT, StreamOptions, StreamPosition
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.changes import ChangeStore
from tests.unit.live.test_exactly_once import PROJECT, RUN, Journal


class ListeningJournal(Journal):
    """A journal that never notifies."""

    @asynccontextmanager
    async def listening(self, on_change: Callable[[int, Sequence[str]], None]) -> AsyncGenerator[None]:
        yield

    async def positions(self, project_id: int, runs: Sequence[str]) -> Mapping[str | None, int]:
        return dict.fromkeys([None, *runs], self.projection)


@dataclass
class Stream:
    """A hub on a journal of one run, with a clock that tests set."""

    limits: StreamLimits = StreamLimits(heartbeat_seconds=0)
    journal: ListeningJournal = field(default_factory=ListeningJournal)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.journal.becomes([("first", 0)])
        self.hub = LiveHub(
            cast(ReadStore, self.journal), cast(ChangeStore, self.journal), self.limits, poll_seconds=600
        )

    def follower(self, channel: Channel) -> Follower:
        position = StreamPosition(channel.base.change, 0, is_replay=True)
        return Follower(self.hub, channel, position, StreamOptions(), no_turn, clock=lambda: self.now)


@asynccontextmanager
async def no_turn() -> AsyncGenerator[None]:
    yield


@pytest.fixture
async def stream() -> AsyncGenerator[Stream]:
    made = Stream()
    yield made
    await made.hub.stop()


async def up_to_heartbeat(messages: AsyncGenerator[bytes]) -> bytes:
    received = b""
    async for data in messages:
        if data == HEARTBEAT:
            return received
        received += data
    raise AssertionError(f"the stream ended: {received!r}")


async def end(messages: AsyncGenerator[bytes]) -> dict[str, object]:
    """The last message of a stream that has nothing else to send."""
    rest: list[bytes] = []
    async for message in messages:
        assert message != HEARTBEAT, "the stream goes on"
        rest.append(message)
    kind, data = rest[-1].decode().strip().splitlines()[-2:]
    assert (len(rest), kind) == (1, "event: end")
    return json.loads(data.removeprefix("data: "))


async def test_a_stream_without_news_sends_heartbeats(stream: Stream):
    async with stream.hub.follow(PROJECT, RUN) as channel:
        messages = stream.follower(channel).messages()
        assert b'"first"' in await up_to_heartbeat(messages)
        assert [await anext(messages), await anext(messages)] == [HEARTBEAT, HEARTBEAT]


async def test_a_stream_ends_at_once_when_the_collector_stops(stream: Stream):
    async with stream.hub.follow(PROJECT, RUN) as channel:
        messages = stream.follower(channel).messages()
        await up_to_heartbeat(messages)
        stream.hub.close()
        assert await end(messages) == {"reason": "stopping", "status": "running", "reconnect": True}
        with pytest.raises(Refused):
            async with stream.hub.follow(PROJECT, RUN):
                raise AssertionError("a stream was opened while the collector stops")


async def test_a_stream_ends_after_its_time_and_its_client_is_to_reconnect(stream: Stream):
    async with stream.hub.follow(PROJECT, RUN) as channel:
        messages = stream.follower(channel).messages()
        await up_to_heartbeat(messages)
        stream.now = stream.limits.stream_seconds - 1
        assert await anext(messages) == HEARTBEAT
        stream.now = stream.limits.stream_seconds
        assert await end(messages) == {"reason": "time", "status": "running", "reconnect": True}


async def test_a_client_that_lags_behind_the_memory_is_cut_off(stream: Stream, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(channels, "_MOST_BATCHES", 1)
    async with stream.hub.follow(PROJECT, RUN) as channel:
        messages = stream.follower(channel).messages()
        await up_to_heartbeat(messages)
        for count in range(2, 5):
            stream.journal.becomes([("first", 0), *((f"event{number}", 0) for number in range(2, count + 1))])
            await channel.read_new()
        assert await end(messages) == {"reason": "too_slow", "status": "running", "reconnect": True}


async def test_messages_in_memory_stay_within_their_bound_while_clients_catch_up():
    most = 4 * 1024 * 1024
    stream = Stream(StreamLimits(heartbeat_seconds=0, memory_bytes=most))
    names = [f"event{number}" for number in range(20_000)]
    stream.journal.becomes([(name, 0) for name in names])
    async with stream.hub.follow(PROJECT, RUN) as channel:
        live = stream.follower(channel).messages()
        await up_to_heartbeat(live)
        received, memory = b"", list[int]()
        async for data in stream.follower(channel).messages():
            if data == HEARTBEAT:
                break
            received += data
            memory.append(channel.memory_bytes)
            if len(memory) % 4 == 0:  # the run goes on
                names.append(f"event{len(names)}")
                stream.journal.becomes([(name, 0) for name in names])
                await channel.read_new()
        assert len(memory) > 40
        assert max(memory) <= most
        assert received.count(b"data: ") == len(names)
        # Who is not behind still finds in memory what came meanwhile.
        assert b"event%d" % (len(names) - 1) in await up_to_heartbeat(live)
    await stream.hub.stop()


async def test_more_streams_than_allowed_are_refused_until_one_is_left():
    stream = Stream(StreamLimits(most=1))
    async with stream.hub.follow(PROJECT, RUN):
        with pytest.raises(Refused) as refused:
            async with stream.hub.follow(PROJECT, RUN):
                raise AssertionError("one stream too many was opened")
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "5"})
        assert "PLAYHEAD_MAX_STREAMS" in str(refused.value)
    async with stream.hub.follow(PROJECT, RUN):
        assert stream.hub.clients == 1
    await stream.hub.stop()
