"""When a database counts as silent, and what a probe is told meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import asyncpg
import pytest

from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.postgres import watch as watching
from playhead_collector.store.postgres.watch import DatabaseWatch


@dataclass
class Postgres:
    """Answers, raises `failure`, or says nothing while `is_silent`; on connections whose number is in `lost`, never."""

    failure: Exception | None = None
    is_silent: bool = False
    lost: set[int] = field(default_factory=set[int])
    connections: int = 0
    now: float = 0.0
    silences: int = 0
    lose_connection: Callable[[], None] = lambda: None

    async def connect(self) -> Any:
        self.connections += 1
        return Connection(self, self.connections)

    async def on_silence(self) -> None:
        self.silences += 1


@dataclass
class Connection:
    postgres: Postgres
    number: int
    is_terminated: bool = False

    async def fetchval(self, *_: object) -> int:
        if self.postgres.is_silent or self.number in self.postgres.lost:
            await asyncio.Event().wait()
        if self.postgres.failure is not None:
            raise self.postgres.failure
        return 1

    def add_termination_listener(self, listener: Callable[[object], None]) -> None:
        self.postgres.lose_connection = lambda: listener(self)

    def terminate(self) -> None:
        self.is_terminated = True


@pytest.fixture
def postgres(monkeypatch: pytest.MonkeyPatch) -> Postgres:
    for name in ("_EVERY_SECONDS", "_WAIT_SECONDS", "_AGAIN_SECONDS"):
        monkeypatch.setattr(watching, name, 0.001)
    return Postgres()


@asynccontextmanager
async def watched(postgres: Postgres) -> AsyncGenerator[DatabaseWatch]:
    watch = DatabaseWatch(cast(Any, postgres.connect), postgres.on_silence, 0.001, clock=lambda: postgres.now)
    await watch.start()
    yield watch
    await watch.stop()


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.001)


async def answered(watch: DatabaseWatch) -> bool:
    try:
        await watch.ready()
    except StoreUnavailable:
        return False
    return True


async def test_a_database_that_answers_is_ready_over_one_connection(postgres: Postgres):
    async with watched(postgres) as watch:
        await watch.ready()
        watch.check()
        postgres.now += 60
        await until(lambda: watch._answered_at == postgres.now)
        await watch.ready()
    assert postgres.connections == 1


async def test_one_that_says_nothing_is_not_ready_after_a_second_and_all_is_given_up_once(postgres: Postgres):
    async with watched(postgres) as watch:
        postgres.is_silent = True
        await until(lambda: postgres.silences)
        with pytest.raises(StoreUnavailable, match="it is silent"):
            watch.check()
        assert not await answered(watch)
        await until(lambda: postgres.connections > 5)  # it goes on asking, each time on a new connection
        assert postgres.silences == 1
        postgres.is_silent = False
        await until(lambda: not watch._is_silent)
        watch.check()
        await watch.ready()
        postgres.is_silent = True
        await until(lambda: postgres.silences == 2)


async def test_a_probe_does_not_wait_for_a_silence_to_be_certain(postgres: Postgres):
    watch = DatabaseWatch(cast(Any, postgres.connect), postgres.on_silence, 3600, clock=lambda: postgres.now)
    await watch.start()
    postgres.is_silent = True
    await watch.ready()  # it has just answered
    postgres.now += 1.1
    with pytest.raises(StoreUnavailable, match="it is silent"):
        await watch.ready()
    watch.check()  # what waits for it still may
    assert postgres.silences == 0
    await watch.stop()


async def test_a_lost_connection_is_no_silence(postgres: Postgres):
    async with watched(postgres) as watch:
        postgres.lost = {1}
        await until(lambda: postgres.connections == 2)
        await until(lambda: watch._failure is None)
        await watch.ready()
    assert postgres.silences == 0


@pytest.mark.parametrize(
    "failure",
    [asyncpg.CannotConnectNowError("the database system is shutting down"), asyncpg.AdminShutdownError("bye")],
)
async def test_one_that_refuses_is_not_ready_and_not_silent(postgres: Postgres, failure: Exception):
    async with watched(postgres) as watch:
        postgres.failure = failure
        await until(lambda: watch._failure is failure)
        with pytest.raises(StoreUnavailable, match=str(failure)):
            await watch.ready()
        watch.check()  # what was begun may go on: it may be waiting for that
    assert postgres.silences == 0


async def test_where_nothing_listens_all_is_given_up_and_what_comes_may_try(postgres: Postgres):
    async with watched(postgres) as watch:
        postgres.failure = ConnectionRefusedError("refused")
        await until(lambda: postgres.silences)
        with pytest.raises(StoreUnavailable, match="refused"):
            await watch.ready()
        watch.check()


async def test_a_connection_that_is_lost_is_noticed_at_once(postgres: Postgres, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watching, "_EVERY_SECONDS", 3600)
    async with watched(postgres) as watch:
        postgres.failure = ConnectionRefusedError("refused")
        postgres.lose_connection()
        await until(lambda: postgres.silences)
        assert not await answered(watch)


async def test_one_without_a_connection_left_answers(postgres: Postgres):
    async with watched(postgres) as watch:
        postgres.failure = asyncpg.TooManyConnectionsError("sorry, too many clients already")
        postgres.now += 60
        await until(lambda: watch._answered_at == postgres.now)
        await watch.ready()
        watch.check()
