"""Requests to forget: one that has to wait keeps no other from going on."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from playhead_collector.errors import (
    CollectorError,
    ContentCorrupt,
    KeyDestroyed,
    ObjectStoreUnavailable,
    StoreCollision,
    WrongEncryptionKey,
)
from playhead_collector.retain.forgetter import Forgetter
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.ports.forgetting import ForgettingStore
from playhead_collector.store.ports.retention import Swept


class TwoRequests:
    """The first one raises."""

    def __init__(self, error: CollectorError) -> None:
        self.error = error
        self.made: list[int] = []

    async def open_jobs(self) -> Sequence[tuple[int, UUID]]:
        return [(1, UUID(int=1)), (2, UUID(int=2))]

    async def step(self, project_id: int, job: UUID) -> bool:
        if project_id == 1:
            raise self.error
        self.made.append(project_id)
        return True

    async def erasing_due(self) -> Sequence[int]:
        return ()


ERRORS = [
    ObjectStoreUnavailable("it is down"),
    WrongEncryptionKey("no key"),
    KeyDestroyed(),
    ContentCorrupt("other bytes in 1/x"),
]


@pytest.mark.parametrize("error", ERRORS)
async def test_a_request_that_waits_keeps_no_other_from_going_on(error: CollectorError):
    requests: Any = TwoRequests(error)
    forgetter = Forgetter(cast(ForgettingStore, requests), cast(Sweeper, None), hold_s=0)
    await forgetter.run_once()
    await forgetter.work_now(1, UUID(int=1))  # whoever asked is told how far it is
    assert requests.made == [2]
    assert forgetter.counts["steps"] == 1


class TwoSweeps(TwoRequests):
    """Both projects have something to erase, and the sweep of the first one raises."""

    async def open_jobs(self) -> Sequence[tuple[int, UUID]]:
        return ()

    async def erasing_due(self) -> Sequence[int]:
        return (1, 2)

    async def step_of_sweep(self, project_id: int) -> Swept:
        await self.step(project_id, UUID(int=0))
        return Swept(None, 0, 0)


@pytest.mark.parametrize("error", [*ERRORS, StoreCollision("another sweeps")])
async def test_a_sweep_that_waits_keeps_no_other_from_going_on(error: CollectorError):
    sweeps = TwoSweeps(error)
    requests: Any = sweeps
    sweeper: Any = SimpleNamespace(step=sweeps.step_of_sweep)
    forgetter = Forgetter(cast(ForgettingStore, requests), cast(Sweeper, sweeper), hold_s=0)
    await forgetter.run_once()
    assert sweeps.made == [2]
