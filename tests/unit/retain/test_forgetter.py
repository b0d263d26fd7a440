"""Requests to forget: one that has to wait keeps no other from going on."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import pytest

from playhead_collector.errors import CollectorError, KeyDestroyed, ObjectStoreUnavailable, WrongEncryptionKey
from playhead_collector.retain.forgetter import Forgetter
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.ports.forgetting import ForgettingStore


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


@pytest.mark.parametrize("error", [ObjectStoreUnavailable("it is down"), WrongEncryptionKey("no key"), KeyDestroyed()])
async def test_a_request_that_waits_keeps_no_other_from_going_on(error: CollectorError):
    requests: Any = TwoRequests(error)
    forgetter = Forgetter(cast(ForgettingStore, requests), cast(Sweeper, None), hold_s=0)
    await forgetter.run_once()
    await forgetter.work_now(1, UUID(int=1))  # whoever asked is told how far it is
    assert requests.made == [2]
    assert forgetter.counts["steps"] == 1
