"""When sealed runs are packed, and what happens to one that cannot be."""

from typing import cast

import pytest

from playhead_collector.errors import StoreCollision, WrongEncryptionKey
from playhead_collector.retain.packer import Packer
from playhead_collector.store.ports.projections import ProjectionStore, UnpackedRun
from tests.unit.projection.test_runner import Clock, MemoryStore, P


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


async def test_sealed_runs_are_packed_together_and_space_is_given_back_afterwards(store: MemoryStore, clock: Clock):
    store.to_pack, store.packing_takes_ns = [UnpackedRun(P, f"{n}", 1) for n in range(20)], 1_000_000
    packer = Packer(cast(ProjectionStore, store), clock=clock)
    packed = [f"{n}" for n in range(20)]
    assert await packer.run_once() == pytest.approx(0.001)
    assert store.packed == packed[:16]
    await packer.run_once()  # it rests for as long as that took
    assert store.packed == packed[:16]
    for _ in range(3):
        clock.now_ns += 1_000_000
        await packer.run_once()
    assert store.packed == [*packed, "shrunk"]
    assert packer.counts["packed"] == 20


async def test_nothing_is_packed_while_others_are_busy(store: MemoryStore, clock: Clock):
    busy = [True, False]
    store.to_pack = [UnpackedRun(P, "a", 1)]
    packer = Packer(cast(ProjectionStore, store), clock=clock, is_busy=lambda: busy.pop(0))
    assert 0 < await packer.run_once() <= 1
    assert store.packed == []
    await packer.run_once()
    assert store.packed == ["a"]


async def test_it_rests_longer_while_runs_wait_to_be_projected(store: MemoryStore, clock: Clock):
    store.to_pack, store.packing_takes_ns = [UnpackedRun(P, "a", 1)], 1_000_000
    packer = Packer(cast(ProjectionStore, store), clock=clock, rest=lambda: 5)
    assert await packer.run_once() == pytest.approx(0.005)


async def test_a_run_that_cannot_be_packed_is_left_and_the_others_are_packed(
    store: MemoryStore, clock: Clock, caplog: pytest.LogCaptureFixture
):
    store.to_pack = [UnpackedRun(P, run, 1) for run in ("good", "bad", "other")]
    store.unpackable = {"bad": ValueError("damaged")}
    packer = Packer(cast(ProjectionStore, store), clock=clock)
    await packer.run_once()
    assert (store.packed, store.to_pack) == (["good", "other"], [])
    assert "run bad cannot be packed" in caplog.text
    store.to_pack, store.unpackable = [UnpackedRun(P, "busy", 1)], {"busy": StoreCollision("others are in the way")}
    clock.now_ns += 10**9
    await packer.run_once()
    assert store.to_pack == [UnpackedRun(P, "busy", 1)]  # there is time


async def test_many_runs_of_a_project_without_its_key_keep_no_other_from_being_packed(store: MemoryStore, clock: Clock):
    unreadable = [UnpackedRun(P + 1, f"{n}", 1) for n in range(20)]
    store.to_pack = [*unreadable, UnpackedRun(P, "good", 1)]
    store.unpackable = {each.run: WrongEncryptionKey("there is no operator's key") for each in unreadable}
    packer = Packer(cast(ProjectionStore, store), clock=clock)
    await packer.run_once()
    await packer.run_once()
    assert (store.packed, store.to_pack) == (["good"], unreadable)
    store.unpackable = {}  # the key is there
    for _ in range(2):
        clock.now_ns += 60 * 10**9
        await packer.run_once()
    assert store.to_pack == []
