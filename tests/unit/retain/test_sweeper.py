"""When content is swept in the background, and how much of the time that takes."""

import asyncio
from collections.abc import Sequence

import pytest

from playhead_collector.errors import (
    ContentCorrupt,
    KeyDestroyed,
    ObjectStoreUnavailable,
    StoreUnavailable,
    WrongEncryptionKey,
)
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.ports.retention import Deleted, Swept

GRACE_NS = 7_200 * 10**9


class PostgresStore:
    """Sweeps of three steps, each of half a second; while `broken`, the database does not answer."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due = [1, 2]
        self.steps: list[int] = []
        self.broken = 0
        self.failing: dict[int, Exception] = {}
        self.changes = 0
        self.waits: list[float] = []
        self.waited = asyncio.Event()

    async def delete_run(self, project_id: int, run: str, *, forks: bool) -> Deleted:
        raise NotImplementedError

    async def sweeps_due(self, grace_ns: int) -> Sequence[int]:
        assert grace_ns == GRACE_NS
        due, self.due = self.due, []
        return due

    async def sweep_step(self, project_id: int, grace_ns: int) -> Swept:
        assert grace_ns == GRACE_NS
        if project_id in self.failing:
            raise self.failing[project_id]
        self.steps.append(project_id)
        self.now += 0.5
        return Swept("runs") if len(self.steps) % 3 else Swept(None, 5, 2)

    async def forget_tombstones(self, older_ns: int) -> int:
        assert older_ns == 60 * 10**9
        if self.broken:
            self.broken -= 1
            raise StoreUnavailable("down")
        return 0

    async def forget_leases(self) -> int:
        return 0

    async def forget_changes(self, older_ns: int) -> int:
        assert older_ns == 600 * 10**9
        left, self.changes = self.changes, max(self.changes - 10, 0)
        return left - self.changes

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        if len(self.waits) >= 3:
            self.waited.set()
            await asyncio.Event().wait()

    def sweeper(self) -> Sweeper:
        return Sweeper(self, grace_s=7_200, tombstone_s=60, changes_s=600, clock=lambda: self.now, sleep=self.sleep)


async def test_what_is_due_is_swept_in_steps_with_rests():
    store = PostgresStore()
    store.sleep = _no_rest(store)
    sweeper = store.sweeper()
    await sweeper.run_once()
    assert store.steps == [1, 1, 1, 2, 2, 2]
    assert store.waits == [2.0, 2.0, 2.0, 2.0]
    assert sweeper.counts == {"sweeps": 2, "contents": 10, "nodes": 4}


async def test_changes_that_no_client_may_ask_for_any_more_go_in_portions():
    store = PostgresStore()
    store.sleep, store.due, store.changes = _no_rest(store), [], 25
    await store.sweeper().run_once()
    assert store.changes == 0
    assert len(store.waits) == 3


def _no_rest(store: PostgresStore):
    async def sleep(seconds: float) -> None:
        store.waits.append(seconds)

    return sleep


@pytest.mark.parametrize("error", [ContentCorrupt("other bytes in 1/x"), RuntimeError("odd"), KeyDestroyed()])
async def test_a_project_that_cannot_be_swept_keeps_no_other_waiting(
    error: Exception, caplog: pytest.LogCaptureFixture
):
    store = PostgresStore()
    store.sleep, store.failing = _no_rest(store), {1: error}
    await store.sweeper().run_once()
    assert store.steps == [2, 2, 2]
    if not isinstance(error, KeyDestroyed):
        assert "project 1" in caplog.text
        assert str(error) in caplog.text


@pytest.mark.parametrize("error", [ObjectStoreUnavailable("it is down"), WrongEncryptionKey("no key")])
async def test_what_waits_for_others_is_tried_again_soon_and_keeps_no_other_waiting(error: StoreUnavailable):
    store = PostgresStore()
    store.sleep, store.failing = _no_rest(store), {1: error}
    with pytest.raises(type(error)):
        await store.sweeper().run_once()
    assert store.steps == [2, 2, 2]


async def test_by_hand_as_many_steps_are_made_as_fit():
    store = PostgresStore()
    sweeper = store.sweeper()
    assert (await sweeper.sweep_now(1)).phase is None
    assert store.steps == [1, 1, 1]


@pytest.mark.parametrize(("broken", "waits"), [(0, [2.0, 2.0, 3600.0]), (1, [60.0, 2.0, 2.0])])
async def test_a_database_that_is_down_is_asked_again_soon(broken: int, waits: list[float]):
    store = PostgresStore()
    store.broken, store.due = broken, [1]
    sweeper = store.sweeper()
    sweeper.start()
    await asyncio.wait_for(store.waited.wait(), 60)
    await sweeper.stop()
    assert store.waits == waits
