import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from playhead_collector.errors import StoreCollision, StoreUnavailable
from playhead_collector.project.projector import project
from playhead_collector.project.runner import Runner
from playhead_collector.store.ports import EventStore, Projection, RunWork
from tests.unit.project.recording import MS, Recording

P = 1
SECOND = 1000 * MS


@dataclass
class Clock:
    now_ns: int = 10**18

    def __call__(self) -> int:
        return self.now_ns


@dataclass
class Kept:
    recording: Recording
    arrived_ns: int
    dirty: bool = True
    stored: Projection | None = None


@dataclass
class MemoryStore:
    """As much of an EventStore as the runner asks for.  `gate` holds up whoever works on a run."""

    clock: Clock
    runs: dict[str, Kept] = field(default_factory=dict)
    works: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None
    worked: asyncio.Event = field(default_factory=asyncio.Event)
    down: bool = False
    collisions: int = 0

    def arrive(self, run: str, recording: Recording | None = None) -> None:
        recording = recording or self.runs[run].recording
        stored = self.runs[run].stored if run in self.runs else None
        self.runs[run] = Kept(recording, self.clock.now_ns, stored=stored)

    async def is_dirty(self, project: int, run: str) -> bool | None:
        self._answer()
        return self.runs[run].dirty if run in self.runs else None

    async def dirty_runs(self, limit: int) -> Sequence[tuple[int, str]]:
        self._answer()
        return [(P, run) for run, kept in self.runs.items() if kept.dirty][:limit]

    async def sealable_runs(self, quiet_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        self._answer()
        return [
            (P, run)
            for run, kept in self.runs.items()
            if kept.stored
            and kept.stored.row.status != "running"
            and not kept.stored.row.sealed
            and kept.arrived_ns <= quiet_since_ns
        ][:limit]

    @asynccontextmanager
    async def work(self, project: int, run: str) -> AsyncIterator[RunWork | None]:
        self._answer()
        if self.collisions:
            self.collisions -= 1
            raise StoreCollision("another transaction was in the way")
        kept = self.runs.get(run)
        if kept is None:
            yield None
            return
        self.works.append(run)
        self.worked.set()
        arrived = kept.arrived_ns
        spans = list(kept.recording.spans)
        if self.gate is not None:
            await self.gate.wait()
        sealed = kept.stored.events if kept.stored and kept.stored.row.sealed else None
        work = kept.recording.work(spans=spans, sealed=sealed)
        work.last_arrival_ns = arrived
        yield work
        kept = self.runs[run]
        kept.stored = work.result or kept.stored
        kept.dirty = len(spans) != len(kept.recording.spans)

    def _answer(self) -> None:
        if self.down:
            raise StoreUnavailable("the database does not answer; see that it runs")


def ended(spans: int = 1) -> Recording:
    r = Recording()
    with r.root():
        for _ in range(spans):
            r.tool("search")
    return r


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


def runner_of(store: MemoryStore, projector: Callable[..., Projection] = project) -> Runner:
    return Runner(
        cast(EventStore, store), clock=store.clock, seal_after_s=30, poll_s=3600, pause_s=0, projector=projector
    )


def kinds(store: MemoryStore, run: str) -> list[str]:
    stored = store.runs[run].stored
    return [event.kind for event in stored.events] if stored else []


async def test_a_look_projects_what_has_news(store: MemoryStore):
    store.arrive("a", ended())
    runner = runner_of(store)
    await runner.look()
    assert kinds(store, "a") == ["run_started", "tool_called", "tool_completed", "run_completed"]
    await runner.look()
    assert store.works == ["a"]


async def test_a_run_that_took_long_rests_five_times_as_long(store: MemoryStore, clock: Clock):
    def slow(*work: Any) -> Projection:
        clock.now_ns += 2 * SECOND
        return project(*work)

    runner = runner_of(store, slow)
    store.arrive("a", ended())
    await runner.look()
    store.arrive("a")
    assert await runner.look() == 10.0
    clock.now_ns += 10 * SECOND - 1
    await runner.look()
    assert store.works == ["a"]
    clock.now_ns += 1
    await runner.look()
    assert store.works == ["a", "a"]


async def test_runs_that_rest_do_not_hide_the_others(store: MemoryStore, clock: Clock, monkeypatch: pytest.MonkeyPatch):
    def slow(*work: Any) -> Projection:
        clock.now_ns += SECOND
        return project(*work)

    monkeypatch.setattr("playhead_collector.project.runner._AT_A_TIME", 1)
    runner = runner_of(store, slow)
    store.arrive("a", ended())
    await runner.look()
    store.arrive("a")
    store.arrive("b", ended())
    await runner.look()
    assert store.works == ["a", "b"]


async def test_who_asks_does_not_wait_for_a_rest_to_end(store: MemoryStore, clock: Clock):
    def slow(*work: Any) -> Projection:
        clock.now_ns += SECOND
        return project(*work)

    runner = runner_of(store, slow)
    store.arrive("a", ended())
    await runner.look()
    store.arrive("a")
    assert await runner.project_now(P, "a")
    assert store.works == ["a", "a"]


async def test_who_asks_about_a_run_without_news_or_one_that_is_not_known_causes_nothing(store: MemoryStore):
    runner = runner_of(store)
    store.arrive("a", ended())
    await runner.look()
    assert await runner.project_now(P, "a")
    assert await runner.project_now(P, "nobody")
    assert store.works == ["a"]


async def test_who_asks_at_the_same_time_shares_one_projection(store: MemoryStore):
    runner = runner_of(store)
    store.arrive("a", ended())
    assert await asyncio.gather(*(runner.project_now(P, "a") for _ in range(20))) == [True] * 20
    assert store.works == ["a"]


async def test_what_arrived_before_the_question_is_in_the_answer(store: MemoryStore):
    runner = runner_of(store)
    recording = ended()
    store.arrive("a", recording)
    store.gate = asyncio.Event()
    first = asyncio.create_task(runner.project_now(P, "a"))
    await store.worked.wait()  # has read its spans by now
    recording.begin("tool", "late")
    store.arrive("a")
    second = asyncio.create_task(runner.project_now(P, "a"))
    store.gate.set()
    await asyncio.gather(first, second)
    assert kinds(store, "a")[-1] == "tool_called"
    assert store.works == ["a", "a"]


async def test_someone_who_goes_away_does_not_take_the_projection_from_the_others(store: MemoryStore):
    runner = runner_of(store)
    store.arrive("a", ended())
    store.gate = asyncio.Event()
    first, second = (asyncio.create_task(runner.project_now(P, "a")) for _ in range(2))
    await store.worked.wait()
    first.cancel()
    store.gate.set()
    assert await second
    assert store.works == ["a"]
    assert first.cancelled()


async def test_a_quiet_run_is_sealed_once(store: MemoryStore, clock: Clock):
    runner = runner_of(store)
    store.arrive("a", ended())
    await runner.look()
    clock.now_ns += 30 * SECOND
    await runner.look()
    assert runner.counts["sealed"] == 0
    clock.now_ns += 1
    await runner.look()
    await runner.look()
    assert store.runs["a"].stored is not None
    assert store.runs["a"].stored.row.sealed
    assert (runner.counts["sealed"], store.works) == (1, ["a", "a"])


async def test_a_run_that_cannot_be_projected_does_not_stop_the_others(
    store: MemoryStore, clock: Clock, caplog: pytest.LogCaptureFixture
):
    def broken(work: RunWork, *rest: Any) -> Projection:
        if len(work.spans) == 2:
            raise ZeroDivisionError
        return project(work, *rest)

    runner = runner_of(store, broken)
    store.arrive("bad", ended(1))
    store.arrive("good", ended(2))
    await runner.look()
    await runner.look()
    assert kinds(store, "good")
    assert store.works == ["bad", "good"]
    assert not await runner.project_now(P, "bad")
    assert store.works == ["bad", "good"]
    for penalty_s in (60, 120, 240):
        clock.now_ns += penalty_s * SECOND
        await runner.look()
    assert (store.works.count("bad"), runner.counts["failed"]) == (4, 4)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "run bad cannot be projected" in caplog.text


async def test_a_run_that_could_not_be_projected_is_one_like_others_once_it_can(store: MemoryStore, clock: Clock):
    faults = [ZeroDivisionError()]

    def once_broken(*work: Any) -> Projection:
        if faults:
            raise faults.pop()
        return project(*work)

    runner = runner_of(store, once_broken)
    store.arrive("a", ended())
    await runner.look()
    clock.now_ns += 60 * SECOND
    await runner.look()
    assert kinds(store, "a")
    store.arrive("a")
    assert await runner.project_now(P, "a")


async def test_when_the_store_is_down_it_is_asked_less_and_less_often(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
):
    runner = runner_of(store)
    store.arrive("a", ended())
    store.down = True
    assert [await runner.look() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert len(caplog.records) == 1
    with pytest.raises(StoreUnavailable):
        await runner.project_now(P, "a")
    store.down = False
    assert await runner.look() == 3600
    assert kinds(store, "a")
    store.down = True
    assert await runner.look() == 1


async def test_a_long_run_is_projected_in_a_thread_and_a_short_one_is_not(store: MemoryStore):
    threads: list[bool] = []

    def watched(*work: Any) -> Projection:
        threads.append(threading.current_thread() is threading.main_thread())
        return project(*work)

    runner = runner_of(store, watched)
    store.arrive("short", ended(2))
    store.arrive("long", ended(200))
    await runner.look()
    assert threads == [True, False]
    assert len(kinds(store, "long")) == 402


async def test_in_the_background_news_is_looked_for_when_woken(store: MemoryStore):
    runner = runner_of(store)
    runner.start()
    runner.start()
    store.arrive("a", ended())
    runner.wake()
    async with asyncio.timeout(5):
        await store.worked.wait()
    await runner.stop()
    assert kinds(store, "a")
    await runner.stop()


async def test_stopping_finishes_what_is_underway(store: MemoryStore):
    store.gate = asyncio.Event()
    runner = runner_of(store)
    store.arrive("a", ended())
    runner.start()
    async with asyncio.timeout(5):
        await store.worked.wait()
    stopping = asyncio.create_task(runner.stop())
    store.gate.set()
    await stopping
    assert kinds(store, "a")


async def test_the_background_survives_what_nobody_thought_of(store: MemoryStore, caplog: pytest.LogCaptureFixture):
    asked = asyncio.Event()

    async def broken(limit: int) -> Sequence[tuple[int, str]]:
        if asked.is_set():
            return []
        asked.set()
        raise RuntimeError

    store.dirty_runs = broken
    runner = runner_of(store)
    runner.start()
    async with asyncio.timeout(5):
        await asked.wait()
    store.arrive("a", ended())
    del store.dirty_runs
    runner.wake()
    async with asyncio.timeout(5):
        await store.worked.wait()
    await runner.stop()
    assert "looking for runs to project failed" in caplog.text


async def test_a_run_that_collides_with_another_transaction_is_projected_at_once(store: MemoryStore, clock: Clock):
    store.arrive("a", ended())
    store.collisions = 3
    runner = Runner(store, clock=clock, seal_after_s=30)  # pyright: ignore[reportArgumentType]
    assert await runner.project_now(P, "a")
    assert (store.runs["a"].dirty, runner.counts["failed"]) == (False, 0)


async def test_one_that_always_collides_is_unavailable_and_no_broken_run(store: MemoryStore, clock: Clock):
    store.arrive("a", ended())
    store.collisions = 1_000
    runner = Runner(store, clock=clock, seal_after_s=30)  # pyright: ignore[reportArgumentType]
    with pytest.raises(StoreUnavailable):
        await runner.project_now(P, "a")
    assert runner.counts["failed"] == 0
