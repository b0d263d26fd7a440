"""Limits of projects: what is counted, when a sender is refused, and until when."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.serve.project_directory import ProjectDirectory
from playhead_collector.serve.quotas import Quotas
from playhead_collector.store.ports.projects import Arrived, ProjectRow, StoredLimits
from playhead_collector.store.ports.storage import ContentSample, InlineSample, TableSize
from tests.support.access_controls import FIRST, ProjectsInMemory

_NS = 10**9
BLUE = 7
_TABLES = ("content", "content_pack", "run", "llm_call")
EVENING = (20_000 * 86_400 + 23 * 3_600 + 3_590) * _NS  # ten seconds before midnight


class Tables:
    """A database whose only table has so many bytes of blue's."""

    bytes = 0

    async def table_sizes(self, project_id: int) -> list[TableSize]:
        share = 1.0 if project_id == BLUE else 0.0
        return [
            TableSize(name, 1, self.bytes // 4, 0, share) for name in ("content", "content_pack", "run", "llm_call")
        ]

    async def sample_contents(self, project_id: int) -> ContentSample:
        return ContentSample([], is_all=True, packs=[], are_all_packs=True)

    async def sample_inline(self, project_id: int) -> InlineSample:
        return InlineSample([], is_all=True)


class Limited:
    """Quotas with a clock of their own, and the projects `default` and `blue`."""

    def __init__(self, **limits: int) -> None:
        self.now = 100.0
        self.wall_ns = EVENING
        self.stored = ProjectsInMemory(FIRST, ProjectRow(BLUE, "blue", 0, StoredLimits(**limits)))
        self.tables = Tables()
        directory = ProjectDirectory(cast(Any, self.stored), clock=lambda: self.now)
        self.quotas = Quotas(
            directory, cast(Any, self.stored), cast(Any, self.tables), clock=lambda: self.now,
            wall_ns=lambda: self.wall_ns,
        )  # fmt: skip

    async def refused(self, project_id: int = BLUE) -> str | None:
        """How many seconds a sender is to wait; None: it is not refused."""
        refusal = await self.quotas.refusal(project_id)
        if refusal is None:
            await self.quotas.check(project_id)
            return None
        with pytest.raises(Refused) as raised:
            await self.quotas.check(project_id)
        assert (raised.value.status, raised.value.code) == (429, "over_limit")
        return raised.value.headers["Retry-After"]


async def test_without_limits_nobody_is_refused():
    limited = Limited()
    for _ in range(3):
        limited.quotas.arrived(BLUE, 10**9, 10**12)
        assert await limited.refused() is None
        await limited.quotas.run_once()


async def test_a_request_over_the_limit_per_second_is_taken_and_the_next_waits_for_as_long_as_it_would_have_taken():
    limited = Limited(spans_per_second=100)
    assert await limited.refused() is None
    limited.quotas.arrived(BLUE, 600, 1)
    assert await limited.refused() == "5"
    assert await limited.refused(FIRST.number) is None
    limited.now += 4.9
    assert await limited.refused() == "1"
    limited.now += 0.2
    assert await limited.refused() is None
    limited.now += 3_600  # what was not used does not add up
    assert await limited.refused() is None
    limited.quotas.arrived(BLUE, 300, 1)
    assert await limited.refused() == "2"


async def test_what_is_being_added_to_the_database_counts_meanwhile(monkeypatch: pytest.MonkeyPatch):
    limited = Limited(bytes_per_day=1_000)
    add_arrived = limited.stored.add_arrived
    while_adding: list[str | None] = []

    async def slowly(arrived: Mapping[int, Arrived]) -> Mapping[int, Arrived]:
        while_adding.append(await limited.refused())
        return await add_arrived(arrived)

    monkeypatch.setattr(limited.stored, "add_arrived", slowly)
    limited.quotas.arrived(BLUE, 1, 2_000)
    await limited.quotas.run_once()
    assert while_adding == ["10"] == [await limited.refused()]
    assert limited.quotas.today(BLUE) == Arrived(1, 2_000)


async def test_a_day_s_limit_counts_what_arrived_at_all_collectors_and_ends_at_midnight():
    limited = Limited(bytes_per_day=1_000)
    limited.quotas.arrived(BLUE, 1, 400)
    await limited.quotas.run_once()
    assert await limited.refused() is None
    limited.stored.arrived[BLUE] += Arrived(1, 599)  # elsewhere
    await limited.quotas.run_once()
    assert await limited.refused() is None
    limited.quotas.arrived(BLUE, 1, 1)  # not added yet, and it counts
    assert limited.quotas.today(BLUE) == Arrived(3, 1_000)
    assert await limited.refused() == "10"
    limited.stored.arrived = {}
    await limited.quotas.run_once()  # the first of the next day
    assert await limited.refused() is None


async def test_the_limit_of_what_is_stored_is_measured_once_a_minute():
    limited = Limited(stored_bytes=1_000)
    await limited.quotas.run_once()
    assert await limited.refused() is None
    limited.tables.bytes = 1_000
    await limited.quotas.run_once()
    assert await limited.refused() is None
    limited.now += 61
    await limited.quotas.run_once()
    assert await limited.refused() == "600"
    assert await limited.refused(FIRST.number) is None


async def test_what_cannot_be_added_while_the_database_is_down_is_added_later(monkeypatch: pytest.MonkeyPatch):
    limited = Limited(bytes_per_day=1_000)

    async def down(arrived: Mapping[int, Arrived]) -> Mapping[int, Arrived]:
        limited.quotas.arrived(BLUE, 1, 50)  # meanwhile
        raise StoreUnavailable("it is down")

    limited.quotas.arrived(BLUE, 2, 100)
    with monkeypatch.context() as patched:
        patched.setattr(limited.stored, "add_arrived", down)
        with pytest.raises(StoreUnavailable):
            await limited.quotas.run_once()
    await limited.quotas.run_once()
    assert limited.stored.arrived == {BLUE: Arrived(3, 150)}
