"""Runs of several projects are projected side by side, some of each at a time."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from playhead_collector.project_turns import ProjectTurns
from playhead_collector.projection import ProjectionRunner
from playhead_collector.store.ports.projections import CachedRun, RunWork, UnprojectedRun
from tests.unit.projection.test_runner import Clock, MemoryStore, ended, kinds

LOUD, QUIET = 2, 3


@dataclass
class SeveralProjects(MemoryStore):
    """A store of runs whose names begin with `loud` or `quiet`, the name of their project. Who works on runs of the
    loud one waits for `may_end`."""

    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    looks: list[list[str]] = field(default_factory=list)

    async def unprojected_runs(self, limit: int, project_id: int | None = None) -> Sequence[UnprojectedRun]:
        self._answer()
        dirty = [run for run, kept in self.runs.items() if kept.dirty]
        self.looks.append(dirty)
        return [UnprojectedRun(project_of(run), run, self.size) for run in dirty][:limit]

    async def sealable_runs(self, quiet_since_ns: int, lost_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        return []

    @asynccontextmanager
    async def locked_runs(
        self, project_id: int, runs: Sequence[str], *, wait: bool = True, cached: Mapping[str, CachedRun]
    ) -> AsyncIterator[list[RunWork]]:
        async with super().locked_runs(project_id, runs, wait=wait, cached=cached) as works:
            if project_id == LOUD:
                await self.may_end.wait()
            yield works


def project_of(run: str) -> int:
    return LOUD if run.startswith("loud") else QUIET


@pytest.fixture
def store() -> SeveralProjects:
    return SeveralProjects(Clock())


@pytest.fixture
def runner(store: SeveralProjects) -> ProjectionRunner:
    turns = ProjectTurns(4, lambda: 0.0)  # nobody has had more of the time than another
    with turns.answering(LOUD), turns.answering(QUIET):
        pass
    return ProjectionRunner(store, clock=store.clock, seal_after_s=30, poll_s=3600, pause_s=0, turns=turns)  # pyright: ignore[reportArgumentType]


def arrive(store: SeveralProjects, loud: int) -> None:
    for number in range(loud):
        store.arrive(f"loud {number}", ended())
    store.arrive("quiet", ended())


async def until(is_so: asyncio.Event) -> None:
    async with asyncio.timeout(60):
        await is_so.wait()


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_all_runs_of_all_projects_are_projected(store: SeveralProjects, runner: ProjectionRunner):
    store.may_end.set()
    arrive(store, loud=30)
    await runner.run_once()
    assert all(kinds(store, run) for run in store.runs)
    assert len(store.worked_on) == 31


async def test_a_project_does_not_wait_for_runs_of_another(store: SeveralProjects, runner: ProjectionRunner):
    arrive(store, loud=30)
    once = asyncio.create_task(runner.run_once())
    await settle()
    assert kinds(store, "quiet")
    assert len(store.worked_on) == 2  # one of the loud one is being projected
    store.arrive("quiet again", ended())
    runner.wake(QUIET)
    await settle()
    assert kinds(store, "quiet again")
    store.may_end.set()
    await once
    assert all(kinds(store, run) for run in store.runs)


async def test_a_project_with_news_is_not_alone_when_somebody_asks_about_another_one(
    store: SeveralProjects, runner: ProjectionRunner
):
    for number in range(30):
        store.arrive(f"loud {number}", ended())
    once = asyncio.create_task(runner.run_once())
    await until(store.worked)
    await settle()
    assert len(store.worked_on) == 1
    store.may_end.set()
    await once
    assert all(kinds(store, run) for run in store.runs)


async def test_news_of_a_project_in_work_are_looked_for_when_that_is_done(
    store: SeveralProjects, runner: ProjectionRunner
):
    arrive(store, loud=2)
    once = asyncio.create_task(runner.run_once())
    await settle()
    looks = len(store.looks)
    store.arrive("loud later", ended())
    for _ in range(5):
        runner.wake(LOUD)
        await settle()
    assert len(store.looks) == looks
    store.may_end.set()
    await once
    assert kinds(store, "loud later")


async def test_stopping_finishes_what_has_begun_and_begins_nothing(store: SeveralProjects, runner: ProjectionRunner):
    arrive(store, loud=30)
    runner.start()
    await until(store.worked)
    await settle()
    stopping = asyncio.create_task(runner.stop())
    await settle()
    store.may_end.set()
    await stopping
    assert len([run for run in store.runs if kinds(store, run)]) == 2
    assert runner.counts["projected"] == 2


async def test_a_store_that_is_away_is_asked_again_later(store: SeveralProjects, runner: ProjectionRunner):
    arrive(store, loud=2)
    once = asyncio.create_task(runner.run_once())
    await settle()
    store.down = True
    store.may_end.set()
    assert await once > 0
    assert runner.counts["store_unavailable"] == 1
    store.down = False
    await runner.run_once()
    assert all(kinds(store, run) for run in store.runs)
