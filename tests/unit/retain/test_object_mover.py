"""When contents move to the object store, and what happens while it fails."""

import logging

import pytest

from playhead_collector.errors import ObjectStoreUnavailable
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.store.ports.objects import Moved


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class MadeUpObjects:
    """Has `waiting` contents to move, each of which takes 2 s, and `doomed` objects to delete."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.waiting = self.doomed = 0
        self.is_full = False
        self.tidied = self.erasing = 0

    async def move_content(self, least_bytes: int) -> Moved:
        if self.is_full:
            raise ObjectStoreUnavailable("507: it is full")
        if not self.waiting:
            return Moved(0, 0)
        self.waiting -= 1
        self.clock.now += 2
        return Moved(1, least_bytes)

    async def large_waiting(self, least_bytes: int) -> int:
        return self.waiting

    async def move_packs(self, project_id: int, packs: object, *, if_smaller: bool = False) -> Moved:
        return Moved(0, 0)

    async def erase(self) -> int:
        erased, self.erasing = self.erasing, 0
        self.doomed += erased
        return erased

    async def tidy(self) -> tuple[int, bool]:
        self.tidied += 1
        return 0, True

    async def check_and_settle(self, wait_s: float, how_many: int) -> int:
        return 0

    async def delete_doomed(self, grace_s: float) -> int:
        gone, self.doomed = self.doomed, 0
        return gone


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def objects(clock: Clock) -> MadeUpObjects:
    return MadeUpObjects(clock)


def mover(objects: MadeUpObjects, *, is_busy: bool = False) -> ObjectMover:
    return ObjectMover(
        objects, objects, least_bytes=100, grace_s=1, wait_s=1, clock=objects.clock, is_busy=lambda: is_busy
    )


async def test_it_rests_as_long_as_a_move_took_and_looks_again_every_few_seconds(objects: MadeUpObjects):
    objects.waiting = 2
    working = mover(objects)
    assert await working.run_once() == 2
    assert await working.run_once() == 2
    assert await working.run_once() == 5
    assert (working.counts["contents"], working.counts["bytes"]) == (2, 200)


async def test_nothing_moves_while_others_are_busy(objects: MadeUpObjects):
    objects.waiting = 1
    assert await mover(objects, is_busy=True).run_once() == 5
    assert objects.waiting == 1


async def test_a_full_store_is_tried_again_ever_later_and_told_once_and_objects_are_deleted_all_the_same(
    objects: MadeUpObjects, clock: Clock, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    objects.is_full, objects.waiting, objects.doomed = True, 1, 7
    working = mover(objects)
    waits: list[float] = []
    for _ in range(9):
        waits.append(await working.run_once())
        clock.now += waits[-1]
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert working.problem == "507: it is full"
    assert len(caplog.records) == 1
    assert working.counts["deleted"] == 7
    objects.is_full = False
    await working.run_once()
    assert (working.problem, objects.waiting) == (None, 0)
    assert "again" in caplog.records[-1].message


async def test_what_was_erased_is_deleted_at_once(objects: MadeUpObjects, clock: Clock):
    working = mover(objects)
    await working.run_once()
    objects.erasing = 2
    assert await working.run_once() == 0
    await working.run_once()
    assert working.counts["deleted"] == 2


async def test_all_objects_are_looked_at_every_ten_minutes(objects: MadeUpObjects, clock: Clock):
    working = mover(objects)
    for _ in range(30):
        await working.run_once()
        clock.now += 60
    assert objects.tidied == 3


async def test_a_store_that_is_down_for_days_is_tried_every_five_minutes(objects: MadeUpObjects, clock: Clock):
    objects.is_full = True
    working = mover(objects)
    for _ in range(1_100):  # more than three days; a float cannot be multiplied by 2**1024
        waited = await working.run_once()
        clock.now += waited
    assert waited == 300
    assert working.counts["failures"] == 1_100
