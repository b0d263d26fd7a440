"""A cached table: read again when it is old, and after a change."""

import asyncio

import pytest

from playhead_collector.errors import StoreUnavailable
from playhead_collector.serve.table_cache import FRESH_SECONDS, TableCache


class Table:
    """A table with one value. A read waits for `may_answer`, and then gives what was there when it began."""

    def __init__(self) -> None:
        self.value, self.reads, self.now = "old", 0, 100.0
        self.is_down = False
        self.may_answer, self.began = asyncio.Event(), asyncio.Event()
        self.may_answer.set()
        self.cache = TableCache(self.read, lambda: self.now)

    async def read(self) -> str:
        self.reads += 1
        value = self.value
        self.began.set()
        await self.may_answer.wait()
        if self.is_down:
            raise StoreUnavailable("down")
        return value


async def test_it_is_read_once_while_it_is_fresh():
    table = Table()
    assert await asyncio.gather(*(table.cache.rows() for _ in range(5))) == ["old"] * 5
    table.value = "new"
    table.now += FRESH_SECONDS - 0.1
    assert (await table.cache.rows(), table.reads) == ("old", 1)
    table.now += 0.2
    assert (await table.cache.rows(), table.reads) == ("new", 2)


async def test_whoever_asks_after_a_change_gets_it_although_a_read_was_under_way():
    table = Table()
    table.may_answer.clear()
    before = asyncio.create_task(table.cache.rows())
    await table.began.wait()
    table.value = "new"
    table.cache.forget()
    after = asyncio.create_task(table.cache.rows())
    table.may_answer.set()
    assert (await before, await after) == ("old", "new")
    assert (await table.cache.rows(), table.reads) == ("new", 2)


async def test_what_was_read_is_kept_while_the_database_is_away_but_not_after_a_change():
    table = Table()
    table.is_down = True
    with pytest.raises(StoreUnavailable):
        await table.cache.rows()
    table.is_down = False
    assert await table.cache.rows() == "old"
    table.is_down = True
    table.now += 2 * FRESH_SECONDS
    assert await table.cache.rows() == "old"
    table.cache.forget()
    with pytest.raises(StoreUnavailable):
        await table.cache.rows()
