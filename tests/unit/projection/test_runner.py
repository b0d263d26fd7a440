import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from playhead.model.ref import ContentRef
from playhead.projection.inputs import Projection
from playhead.projection.projector import project
from playhead_collector.errors import ObjectStoreUnavailable, StoreCollision, StoreUnavailable
from playhead_collector.projection import ProjectionRunner, batches
from playhead_collector.store.ports.projections import CachedRun, ProjectionStore, RunWork, UnpackedRun, UnprojectedRun
from tests.unit.projection.recording import MS, Recording

P = 1
SECOND = 1000 * MS


@dataclass
class Clock:
    now_ns: int = 10**18

    def __call__(self) -> int:
        return self.now_ns


@dataclass
class Recorded:
    recording: Recording
    arrived_ns: int
    dirty: bool = True
    stored: Projection | None = None


@dataclass
class MemoryStore:
    """As much of an ProjectionStore as the runner asks for.  `gate` holds up whoever works on a run."""

    clock: Clock
    runs: dict[str, Recorded] = field(default_factory=dict)
    worked_on: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None
    worked: asyncio.Event = field(default_factory=asyncio.Event)
    down: bool = False
    collisions: int = 0
    size: int = 1_000
    unwritable: str = ""
    to_pack: list[UnpackedRun] = field(default_factory=list)
    packed: list[str] = field(default_factory=list)
    packing_takes_ns: int = 0
    unpackable: dict[str, Exception] = field(default_factory=dict)

    def arrive(self, run: str, recording: Recording | None = None) -> None:
        recording = recording or self.runs[run].recording
        stored = self.runs[run].stored if run in self.runs else None
        self.runs[run] = Recorded(recording, self.clock.now_ns, stored=stored)

    async def has_unprojected_data(self, project_id: int, run: str) -> bool | None:
        self._answer()
        return self.runs[run].dirty if run in self.runs else None

    async def unprojected_runs(self, limit: int, project_id: int | None = None) -> Sequence[UnprojectedRun]:
        self._answer()
        assert project_id in (None, P)
        return [UnprojectedRun(P, run, self.size) for run, kept in self.runs.items() if kept.dirty][:limit]

    async def sealable_runs(self, quiet_since_ns: int, lost_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        self._answer()
        return [
            (P, run)
            for run, kept in self.runs.items()
            if kept.stored
            and kept.stored.row.status != "running"
            and not kept.stored.row.sealed
            and kept.arrived_ns <= quiet_since_ns
        ][:limit]

    async def mark_lost(self, own_before_ns: int, foreign_before_ns: int, limit: int) -> int:
        return 0

    async def seal(self, quiet_since_ns: int, limit: int) -> int:
        self._answer()
        return 0

    async def runs_to_pack(self, limit: int, *, without: Sequence[int] = ()) -> Sequence[UnpackedRun]:
        self._answer()
        return [each for each in self.to_pack if each.project_id not in without][:limit]

    async def pack(self, due: Sequence[UnpackedRun]) -> int:
        self.clock.now_ns += self.packing_takes_ns
        for each in due:
            if each.run in self.unpackable:
                raise self.unpackable[each.run]
        await self.skip_packing(due)
        self.packed += [each.run for each in due]
        return len(due)

    async def skip_packing(self, due: Sequence[UnpackedRun]) -> None:
        self.to_pack = [each for each in self.to_pack if each not in due]

    async def measure_older(self) -> int:
        return 0

    async def shrink(self) -> bool:
        self.packed.append("shrunk")
        return True

    @asynccontextmanager
    async def locked_runs(
        self, project_id: int, runs: Sequence[str], *, wait: bool = True, cached: Mapping[str, CachedRun]
    ) -> AsyncIterator[list[RunWork]]:
        self._answer()
        if self.collisions:
            self.collisions -= 1
            raise StoreCollision("another transaction was in the way")
        works: list[RunWork] = []
        for run in runs:
            if run not in self.runs:
                continue
            known = self.runs[run]
            self.worked_on.append(run)
            sealed = known.stored.events if known.stored and known.stored.row.sealed else None
            works.append(known.recording.work(spans=list(known.recording.spans), sealed=sealed))
            # Runs are told apart by the names that tests give them.
            works[-1].run, works[-1].last_arrival_ns = run, known.arrived_ns
        self.worked.set()
        if self.gate is not None:
            await self.gate.wait()
        yield works
        for work in works:
            if work.run == self.unwritable and work.result is not None:
                raise ValueError(work.run)
        for work in works:
            known = self.runs[work.run]
            known.stored = work.result or known.stored
            known.dirty = work.result is None or len(work.spans) != len(known.recording.spans)

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


def runner_of(store: MemoryStore, projector: Callable[..., Projection] = project) -> ProjectionRunner:
    return ProjectionRunner(
        cast(ProjectionStore, store), clock=store.clock, seal_after_s=30, poll_s=3600, pause_s=0, projector=projector
    )


def kinds(store: MemoryStore, run: str) -> list[str]:
    stored = store.runs[run].stored
    return [event.kind for event in stored.events] if stored else []


async def test_a_look_projects_what_has_news(store: MemoryStore):
    store.arrive("a", ended())
    runner = runner_of(store)
    await runner.run_once()
    assert kinds(store, "a") == ["run_started", "tool_called", "tool_completed", "run_completed"]
    await runner.run_once()
    assert store.worked_on == ["a"]


async def test_other_work_waits_while_many_runs_have_news_and_rests_longer_while_any_has(store: MemoryStore):
    runner = runner_of(store)
    for number in range(65):
        store.arrive(f"{number}", ended())
    assert (runner.is_busy(), runner.rest_of_others()) == (False, 1)  # it has not looked yet
    await runner.run_once()
    assert (runner.is_busy(), runner.rest_of_others()) == (True, 5)
    store.arrive("one more", ended())
    await runner.run_once()
    assert (runner.is_busy(), runner.rest_of_others()) == (False, 5)
    await runner.run_once()
    assert (runner.is_busy(), runner.rest_of_others()) == (False, 1)


async def test_a_run_that_took_long_rests_five_times_as_long(store: MemoryStore, clock: Clock):
    def slow(*work: Any) -> Projection:
        clock.now_ns += 2 * SECOND
        return project(*work)

    runner = runner_of(store, slow)
    store.arrive("a", ended())
    await runner.run_once()
    store.arrive("a")
    assert await runner.run_once() == 10.0
    clock.now_ns += 10 * SECOND - 1
    await runner.run_once()
    assert store.worked_on == ["a"]
    clock.now_ns += 1
    await runner.run_once()
    assert store.worked_on == ["a", "a"]


async def test_runs_that_rest_do_not_hide_the_others(store: MemoryStore, clock: Clock, monkeypatch: pytest.MonkeyPatch):
    def slow(*work: Any) -> Projection:
        clock.now_ns += SECOND
        return project(*work)

    monkeypatch.setattr("playhead_collector.projection._AT_A_TIME", 1)
    runner = runner_of(store, slow)
    store.arrive("a", ended())
    await runner.run_once()
    store.arrive("a")
    store.arrive("b", ended())
    await runner.run_once()
    assert store.worked_on == ["a", "b"]


async def test_who_asks_does_not_wait_for_a_rest_to_end(store: MemoryStore, clock: Clock):
    def slow(*work: Any) -> Projection:
        clock.now_ns += SECOND
        return project(*work)

    runner = runner_of(store, slow)
    store.arrive("a", ended())
    await runner.run_once()
    store.arrive("a")
    assert await runner.project_now(P, "a")
    assert store.worked_on == ["a", "a"]


async def test_who_asks_about_a_run_without_news_or_one_that_is_not_known_causes_nothing(store: MemoryStore):
    runner = runner_of(store)
    store.arrive("a", ended())
    await runner.run_once()
    assert await runner.project_now(P, "a")
    assert await runner.project_now(P, "nobody")
    assert store.worked_on == ["a"]


async def test_who_asks_at_the_same_time_shares_one_projection(store: MemoryStore):
    runner = runner_of(store)
    store.arrive("a", ended())
    assert await asyncio.gather(*(runner.project_now(P, "a") for _ in range(20))) == [True] * 20
    assert store.worked_on == ["a"]


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
    assert store.worked_on == ["a", "a"]


async def test_someone_who_goes_away_does_not_take_the_projection_from_the_others(store: MemoryStore):
    runner = runner_of(store)
    store.arrive("a", ended())
    store.gate = asyncio.Event()
    first, second = (asyncio.create_task(runner.project_now(P, "a")) for _ in range(2))
    await store.worked.wait()
    first.cancel()
    store.gate.set()
    assert await second
    assert store.worked_on == ["a"]
    assert first.cancelled()


async def test_a_quiet_run_is_sealed_once(store: MemoryStore, clock: Clock):
    runner = runner_of(store)
    store.arrive("a", ended())
    await runner.run_once()
    clock.now_ns += 30 * SECOND
    await runner.run_once()
    assert runner.counts["sealed"] == 0
    clock.now_ns += 1
    await runner.run_once()
    await runner.run_once()
    assert store.runs["a"].stored is not None
    assert store.runs["a"].stored.row.sealed
    assert (runner.counts["sealed"], store.worked_on) == (1, ["a", "a"])


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
    await runner.run_once()
    await runner.run_once()
    assert kinds(store, "good")
    assert store.worked_on == ["bad", "good"]
    assert not await runner.project_now(P, "bad")
    assert store.worked_on == ["bad", "good"]
    for penalty_s in (60, 120, 240):
        clock.now_ns += penalty_s * SECOND
        await runner.run_once()
    assert (store.worked_on.count("bad"), runner.counts["failed"]) == (4, 4)
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
    await runner.run_once()
    clock.now_ns += 60 * SECOND
    await runner.run_once()
    assert kinds(store, "a")
    store.arrive("a")
    assert await runner.project_now(P, "a")


async def test_when_the_store_is_down_it_is_asked_less_and_less_often(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
):
    runner = runner_of(store)
    store.arrive("a", ended())
    store.down = True
    assert [await runner.run_once() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert len(caplog.records) == 1
    with pytest.raises(StoreUnavailable):
        await runner.project_now(P, "a")
    store.down = False
    assert await runner.run_once() == 3600
    assert kinds(store, "a")
    store.down = True
    assert await runner.run_once() == 1


async def test_a_long_run_is_projected_in_a_thread_and_a_short_one_is_not(store: MemoryStore):
    store.size = 10**6  # too much to project both together
    threads: list[bool] = []

    def watched(*work: Any) -> Projection:
        threads.append(threading.current_thread() is threading.main_thread())
        return project(*work)

    runner = runner_of(store, watched)
    store.arrive("short", ended(2))
    store.arrive("long", ended(200))
    await runner.run_once()
    assert threads == [True, False]
    assert len(kinds(store, "long")) == 402


async def test_in_the_background_news_is_looked_for_when_woken(store: MemoryStore):
    runner = runner_of(store)
    runner.start()
    runner.start()
    store.arrive("a", ended())
    runner.wake(P)
    async with asyncio.timeout(60):
        await store.worked.wait()
    await runner.stop()
    assert kinds(store, "a")
    await runner.stop()


async def test_stopping_finishes_what_is_underway(store: MemoryStore):
    store.gate = asyncio.Event()
    runner = runner_of(store)
    store.arrive("a", ended())
    runner.start()
    async with asyncio.timeout(60):
        await store.worked.wait()
    stopping = asyncio.create_task(runner.stop())
    store.gate.set()
    await stopping
    assert kinds(store, "a")


async def test_stopping_gives_up_what_takes_too_long_and_leaves_it_to_the_next_start(store: MemoryStore):
    store.gate = asyncio.Event()  # never opened
    runner = runner_of(store)
    store.arrive("a", ended())
    runner.start()
    async with asyncio.timeout(60):
        await store.worked.wait()
        await runner.stop(finish_s=0.01)
    assert not kinds(store, "a")
    assert await store.has_unprojected_data(1, "a")


async def test_the_background_survives_what_nobody_thought_of(store: MemoryStore, caplog: pytest.LogCaptureFixture):
    asked = asyncio.Event()

    async def broken(limit: int, project_id: int | None = None) -> Sequence[UnprojectedRun]:
        if asked.is_set():
            return []
        asked.set()
        raise RuntimeError

    store.unprojected_runs = broken
    runner = runner_of(store)
    runner.start()
    async with asyncio.timeout(60):
        await asked.wait()
    store.arrive("a", ended())
    del store.unprojected_runs
    runner.wake(P)
    async with asyncio.timeout(60):
        await store.worked.wait()
    await runner.stop()
    assert "looking for runs to project failed" in caplog.text


async def test_a_run_that_collides_with_another_transaction_is_projected_at_once(store: MemoryStore, clock: Clock):
    store.arrive("a", ended())
    store.collisions = 3
    runner = ProjectionRunner(store, clock=clock, seal_after_s=30)  # pyright: ignore[reportArgumentType]
    assert await runner.project_now(P, "a")
    assert (store.runs["a"].dirty, runner.counts["failed"]) == (False, 0)


async def test_one_that_always_collides_is_unavailable_and_no_broken_run(store: MemoryStore, clock: Clock):
    store.arrive("a", ended())
    store.collisions = 1_000
    runner = ProjectionRunner(store, clock=clock, seal_after_s=30)  # pyright: ignore[reportArgumentType]
    with pytest.raises(StoreUnavailable):
        await runner.project_now(P, "a")
    assert runner.counts["failed"] == 0


async def test_runs_that_wait_are_projected_together(store: MemoryStore):
    for run in "abc":
        store.arrive(run, ended())
    store.gate = asyncio.Event()
    looking = asyncio.create_task(runner_of(store).run_once())
    async with asyncio.timeout(60):
        await store.worked.wait()
    assert store.worked_on == ["a", "b", "c"]
    store.gate.set()
    await looking
    assert not any(kept.dirty for kept in store.runs.values())


async def test_who_asks_about_one_of_several_waits_for_them_and_projects_nothing_again(store: MemoryStore):
    for run in "ab":
        store.arrive(run, ended())
    store.gate = asyncio.Event()
    runner = runner_of(store)
    looking = asyncio.create_task(runner.run_once())
    async with asyncio.timeout(60):
        await store.worked.wait()
    asking = asyncio.create_task(runner.project_now(P, "b"))
    store.gate.set()
    await looking
    assert await asking
    assert store.worked_on == ["a", "b"]


async def test_one_that_cannot_be_stored_takes_nothing_from_those_around_it(store: MemoryStore):
    for run in "abc":
        store.arrive(run, ended())
    store.unwritable = "b"
    runner = runner_of(store)
    await runner.run_once()
    assert [kept.dirty for kept in store.runs.values()] == [False, True, False]
    assert (runner.counts["projected"], runner.counts["failed"]) == (2, 1)
    assert not await runner.project_now(P, "b")


class SharedStore(MemoryStore):
    """A loud project, and a quiet one (2), whose next run arrives while the first batch is projected."""

    batches: list[list[str]]

    async def unprojected_runs(self, limit: int, project_id: int | None = None) -> Sequence[UnprojectedRun]:
        waiting = [(2 if run.startswith("quiet") else P, run) for run, kept in self.runs.items() if kept.dirty]
        found = [UnprojectedRun(*key, 100) for key in waiting if project_id in (None, key[0])]
        return found[:limit]

    @asynccontextmanager
    async def locked_runs(
        self, project_id: int, runs: Sequence[str], *, wait: bool = True, cached: Mapping[str, CachedRun]
    ) -> AsyncIterator[list[RunWork]]:
        self.batches.append(list(runs))
        async with super().locked_runs(project_id, runs, wait=wait, cached=cached) as works:
            yield works
        if len(self.batches) == 2:
            self.arrive("quiet again", ended())


@pytest.fixture
def shared(clock: Clock) -> SharedStore:
    store = SharedStore(clock)
    store.batches = []
    for n in range(100):
        store.arrive(f"loud {n}", ended())
    store.arrive("quiet", ended())
    return store


async def test_a_project_with_much_news_delays_another_by_some_runs_at_most(shared: SharedStore):
    runner = runner_of(shared)
    while not await runner.run_once():  # the next cycle is due at once
        pass
    assert shared.batches[:2] == [["loud 0"], ["quiet"]]
    assert ["quiet again"] in shared.batches[2:10]
    assert not any(kept.dirty for kept in shared.runs.values())  # all of the loud one, too


async def test_who_reads_a_list_does_not_wait_for_other_projects(shared: SharedStore):
    await runner_of(shared).catch_up(2)
    assert shared.batches == [["quiet"]]


def test_a_batch_has_runs_of_one_project_and_no_more_than_a_moment_takes():
    few, large = (
        [UnprojectedRun(1, f"{n}", 100) for n in range(130)],
        [UnprojectedRun(1, f"large {n}", 200_000) for n in range(2)],
    )
    other = UnprojectedRun(2, "other", 1)
    found = list(batches([few[0], other, *few[1:], *large]))
    # Projects take turns.
    assert [len(batch) for batch in found] == [64, 1, 64, 3, 1]
    assert found[1] == [(2, "other")]
    assert {key for batch in found for key in batch} == {each[:2] for each in [other, *few, *large]}
    assert list(batches([])) == []


async def test_a_run_that_needs_a_failing_object_store_waits_alone(
    store: MemoryStore, clock: Clock, caplog: pytest.LogCaptureFixture
):
    is_down = [True]

    async def read(refs: Collection[ContentRef]) -> None:
        if is_down[0]:
            raise ObjectStoreUnavailable("the object store is down")

    def reading(work: RunWork, *rest: Any) -> Projection:
        result = project(work, *rest)
        work.read = read
        if work.run == "needs it":
            result.unread = {ContentRef.of(b"a message")} - work.looked_up
        return result

    for run in ("one", "needs it", "other"):
        store.arrive(run, ended())
    runner = runner_of(store, reading)
    await runner.run_once()
    assert (bool(kinds(store, "one")), kinds(store, "needs it"), bool(kinds(store, "other"))) == (True, [], True)
    assert store.worked_on == ["one", "needs it", "other"]  # in one transaction
    assert runner.counts["failed"] == 1
    assert "the object store is down" in caplog.text
    assert "please report" not in caplog.text
    is_down[0] = False
    clock.now_ns += 3_600 * SECOND
    await runner.run_once()
    assert kinds(store, "needs it") == kinds(store, "one")
