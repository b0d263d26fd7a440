"""When policies are applied, and what becomes of it when something fails."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

import pytest

from playhead_collector.errors import KeyDestroyed, StoreUnavailable, WrongEncryptionKey
from playhead_collector.retain.policy import DAY_NS
from playhead_collector.retain.retainer import Retainer
from playhead_collector.store.ports.tiers import Move, RemovalRow, RunAge, StoredPin, Tier

RUNS = [f"{number:032x}" for number in range(1, 1_201)]
DELETES = '{"default": {"hot": "1d"}}'


class MemoryTiers:
    """Runs that all ended at 0. `failing`: what the first look at a project raises."""

    def __init__(self) -> None:
        self.by_project: dict[int, str] = {1: DELETES}
        self.failing: dict[int, Exception] = {}
        self.there: dict[int, list[str]] = {1: list(RUNS), 2: list(RUNS[:3])}
        self.looks: list[int] = []
        self.moves: list[int] = []

    async def policies(self) -> Mapping[int, str]:
        return dict(self.by_project)

    async def policy(self, project_id: int) -> str | None:
        return self.by_project.get(project_id)

    async def set_policy(self, project_id: int, policy: str | None) -> None:
        raise NotImplementedError

    async def runs_after(
        self, project_id: int, after: str | None, *, ended_before_ns: int, limit: int
    ) -> Sequence[RunAge]:
        if project_id in self.failing:
            raise self.failing.pop(project_id)
        found = [RunAge(run, Tier.HOT, 0) for run in self.there[project_id] if after is None or run > after][:limit]
        self.looks.append(len(found))
        return found if ended_before_ns > 0 else []

    async def run_age(self, project_id: int, run: str) -> RunAge | None:
        return RunAge(run, Tier.HOT, 0)

    async def sizes(self, project_id: int, runs: Sequence[str]) -> Mapping[str, int]:
        return dict.fromkeys(runs, 10)

    async def move(
        self, project_id: int, runs: Sequence[str], to: Tier, choose: Callable[[RunAge], Move | None]
    ) -> Sequence[RemovalRow]:
        moved = [run for run in runs if choose(RunAge(run, Tier.HOT, 0)) == Move(to, "default")]
        self.there[project_id] = [run for run in self.there[project_id] if run not in moved]
        self.moves.append(len(moved))
        return [RemovalRow(1, 0, "default", Tier.HOT, to, moved, 0, 10 * len(moved))]

    async def packs_to_warm(self, project_id: int, after: int, limit: int) -> Sequence[int]:
        return []

    async def move_records(self, project_id: int, after: str | None, limit: int) -> str | None:
        return None

    async def tiers(self, project_id: int) -> Mapping[Tier, int]:
        return {}

    async def pin(self, project_id: int, run: str, reason: str | None, api_key: str | None) -> StoredPin | None:
        return None

    async def unpin(self, project_id: int, run: str) -> bool:
        return False

    async def pin_of(self, project_id: int, run: str) -> StoredPin | None:
        return None

    async def removals(self, project_id: int, *, limit: int, before: int | None = None) -> Sequence[RemovalRow]:
        return []


@pytest.fixture
def store() -> MemoryTiers:
    return MemoryTiers()


class Times:
    """A clock that goes on by 50 ms with each look, and rests that take no time."""

    def __init__(self) -> None:
        self.now, self.rests = 0.0, list[float]()

    def clock(self) -> float:
        self.now += 0.05
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        await asyncio.sleep(0)


def retainer_of(store: MemoryTiers, times: Times) -> Retainer:
    return Retainer(store, wall_ns=lambda: 2 * DAY_NS, clock=times.clock, sleep=times.sleep)


async def test_a_pass_goes_in_small_steps_with_rests(store: MemoryTiers):
    times = Times()
    retainer = retainer_of(store, times)
    await retainer.run_once()
    assert store.there[1] == []
    assert max(store.moves) == 16
    assert max(store.looks) == 500
    assert len(times.rests) == len(store.moves)
    assert min(times.rests) > 0
    assert retainer.counts == {"deleted": 1_200, "passes": 1}


async def test_a_request_ends_in_time_and_the_next_one_goes_on(store: MemoryTiers):
    times = Times()
    retainer = retainer_of(store, times)
    done = await retainer.retain_now(1)
    assert not done.complete
    assert 0 < done.runs[Tier.DELETED] < 1_200
    requests = 1
    while not done.complete:
        done, requests = await retainer.retain_now(1), requests + 1
    assert store.there[1] == []
    assert times.rests == []
    assert requests < 20


@pytest.mark.parametrize("changed", [None, '{"default": {"hot": "forever"}}'], ids=["taken away", "changed"])
async def test_a_policy_that_is_changed_during_a_pass_counts_at_once(store: MemoryTiers, changed: str | None):
    """Whoever sees that too much is deleted mends the policy, and the pass goes on for hours."""
    times = Times()

    async def change(seconds: float) -> None:
        if changed is None:
            store.by_project.pop(1, None)
        else:
            store.by_project[1] = changed

    times.sleep = change
    retainer = retainer_of(store, times)
    await retainer.run_once()
    assert store.moves == [16]
    assert retainer.counts == {"deleted": 16, "passes": 1}


async def test_a_pass_goes_on_with_the_new_policy(store: MemoryTiers):
    times = Times()

    async def change(seconds: float) -> None:
        store.by_project[1] = '{"default": {"hot": "12h"}}'

    times.sleep = change
    await retainer_of(store, times).run_once()
    assert store.there[1] == []


async def test_a_plan_counts_all_and_lists_the_first(store: MemoryTiers):
    plan = await retainer_of(store, Times()).plan(1, 5)
    assert (plan.runs, plan.kept, plan.bytes, plan.looked_at) == (1_200, 0, 12_000, 1_200)
    assert [run.run for run, _ in plan.due] == RUNS[:5]
    assert store.moves == []


async def test_a_project_that_cannot_be_read_keeps_no_other_waiting(
    store: MemoryTiers, caplog: pytest.LogCaptureFixture
):
    store.by_project = {1: DELETES, 2: DELETES}
    for error in (KeyDestroyed(), WrongEncryptionKey("another key"), RuntimeError("unexpected")):
        store.there[2], store.failing = list(RUNS[:3]), {1: error}
        with caplog.at_level(logging.WARNING):
            await retainer_of(store, Times()).run_once()
        assert store.there[2] == []
        assert "project 1" in caplog.text
        caplog.clear()


async def test_without_the_store_a_pass_is_tried_again_soon(store: MemoryTiers):
    store.failing = {1: StoreUnavailable("gone")}
    times = Times()
    retainer = retainer_of(store, times)
    retainer.start()
    while not retainer.counts["passes"]:
        await asyncio.sleep(0)
    await retainer.stop()
    assert [rest for rest in times.rests if rest > 1][:2] == [600.0, 60.0]
    assert store.there[1] == []
