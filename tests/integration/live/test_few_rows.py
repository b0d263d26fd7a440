"""What live clients ask of the table of changes reads few of its rows, however many there are."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.statements import Conn
from tests.integration.read.search.test_reads_by_index import MOST_READ, READ
from tests.integration.store.making import P

CHANGES, PAGE = 20_000, 64
# Numbers have gaps: projections that changed no event.  A hundredth moved events; every run has 20 changes.
FILL = f"""
    insert into run_change (projection, at_ns, project_id, first_seq, last_seq, known, run_id, was)
    select 3 * n, 1000 * n, {P}, 1, 1, 0, ('00000000-0000-0000-0000-' || lpad((n / 20)::text, 12, '0'))::uuid,
        case when n % 100 = 0 then array[1] end
    from generate_series(1, {CHANGES}) as n;
    analyze run_change;
"""
RUN = UUID(int=0x500)
ABOUT_RUNS = {"runs": [RUN, UUID(int=0x501)]}


@pytest.fixture(scope="module")
def filled_url(module_database_url: str) -> str:
    async def fill() -> None:
        connection = await asyncpg.connect(module_database_url)
        await connection.execute(FILL)
        await connection.close()

    asyncio.run(fill())
    return module_database_url


@pytest.fixture
async def conn(filled_url: str) -> AsyncIterator[Conn]:
    database = await Database.open(filled_url, 1)
    async with database.transaction() as conn:
        undone = conn.transaction()
        await undone.start()
        yield conn
        await undone.rollback()
    await database.close()


ASKED: list[tuple[str, Mapping[str, Any]]] = [
    ("newest_change", {}),
    ("changes_removed", {}),
    ("change_before", {"time": 1_000}),
    ("change_before", {"time": 1_000 * CHANGES}),
    ("run_head", {"run": RUN}),
    ("run_changes", {"run": RUN, "after": 0, "how_many": PAGE}),
    ("all_changes", {"after": 0, "how_many": PAGE}),
    ("moves", ABOUT_RUNS | {"after": 0}),
    ("projections_of", ABOUT_RUNS),
]


@pytest.mark.parametrize(("name", "given"), ASKED)
async def test_a_live_client_reads_few_rows(conn: Conn, name: str, given: Mapping[str, Any]):
    await statements.rows(conn, name, project_id=P, **given)
    assert await conn.fetchval(READ) <= MOST_READ


@pytest.mark.parametrize("step", [0, 1, 2, 7_777, CHANGES, CHANGES + 1])
async def test_the_last_change_before_a_time_is_found(conn: Conn, step: int):
    wrong = "select count(*) from run_change where (projection > $1) = (at_ns < $2)"
    for time in (1_000 * step, 1_000 * step + 1):
        found = await statements.value(conn, "change_before", project_id=P, time=time)
        assert await conn.fetchval(wrong, found, time) == 0


async def test_what_no_client_may_ask_for_any_more_is_removed_from_the_oldest_on(conn: Conn):
    while True:
        before = await conn.fetchval("select count(*) from run_change")
        await statements.run(conn, "forget_changes", before=1_000 * 15_000)
        if await conn.fetchval("select count(*) from run_change") == before:
            break
    assert await conn.fetchval("select min(projection) from run_change") == 3 * 15_000
    assert await statements.value(conn, "changes_removed", project_id=P) == 3 * 14_999
    await conn.execute("delete from run_change")
    assert await statements.value(conn, "change_before", project_id=P, time=5) == 0
