"""Statements look up what they were asked for, also while Postgres knows nothing of a table that grew just now."""

import datetime
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.statements import Conn
from tests.integration.store.making import RUN, P

# As many as a collector takes in some seconds, long before the first autovacuum.
NODES, NODES_PER_LINEAGE, ASKED = 6_000, 10, 100
TODAY = datetime.date(2026, 1, 2)
# For each ref: itself, the ends of its lineage, and its message; and what a plan may look at in passing.
MOST_READ = ASKED * (NODES_PER_LINEAGE + 10)

FILL = f"""
    alter table thread_node set (autovacuum_enabled = false);
    alter table content set (autovacuum_enabled = false);
    insert into thread_node (project_id, last_seen, lineage, depth, ref, message)
    select 1, '2026-01-01', n / {NODES_PER_LINEAGE}, n % {NODES_PER_LINEAGE} + 1,
        sha256(('node ' || n)::bytea), sha256(('message ' || n)::bytea)
    from generate_series(0, {NODES - 1}) as n;
    insert into content (project_id, last_seen, media, encoding, role, ref, body)
    select 1, '2026-01-01', 1, 0, 0, message, '' from thread_node;
"""
READ = """
    select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::int
    from pg_stat_xact_user_tables where relname in ('thread_node', 'content')
"""

STATEMENTS: Mapping[str, Mapping[str, Any]] = {
    "touch": {"today": TODAY},
    "touch_contents": {"today": TODAY},
    "find_nodes": {},
    "read_threads": {"owners": [0] * ASKED, "known_owners": [], "known_lineages": [], "known_depths": []},
    "read_contents": {},
    "trace_threads": {},
    "content_sizes": {},
    "undescribed": {},
}


@pytest.fixture
async def conn(database_url: str) -> AsyncIterator[Conn]:
    """As the store's are: with its settings.  In a transaction, whose reading is counted by itself."""
    database = await Database.open(database_url, 1)
    async with database.reading() as filling:
        await filling.execute(FILL)
    async with database.transaction() as conn:
        yield conn
    await database.close()


async def refs(conn: Conn) -> list[bytes]:
    """Of nodes and of contents, far from each other."""
    numbers = list(range(0, NODES, 2 * NODES // ASKED))
    query = f"select ref, message from thread_node where lineage * {NODES_PER_LINEAGE} + depth - 1 = any($1)"
    return [ref for row in await conn.fetch(query, numbers) for ref in (row["ref"], row["message"])]


@pytest.mark.parametrize("name", STATEMENTS)
async def test_rows_are_looked_up_in_a_table_without_statistics(conn: Conn, name: str):
    asked = await refs(conn)
    assert len(asked) == pytest.approx(ASKED, abs=2)
    before = await conn.fetchval(READ)
    if name == "trace_threads":
        await statements.run(conn, name, project_id=P, refs=asked, **STATEMENTS[name])
    else:
        assert await statements.rows(conn, name, project_id=P, refs=asked, **STATEMENTS[name])
    assert await conn.fetchval(READ) - before <= MOST_READ


async def test_what_a_run_waits_for_is_looked_up_in_a_table_without_statistics(conn: Conn):
    asked = await refs(conn)
    lost = b"nowhere".ljust(32)
    await statements.run(conn, "insert_pending", project_id=P, runs=[RUN] * (len(asked) + 1), refs=[*asked, lost])
    before = await conn.fetchval(READ)
    waiting = await statements.rows(conn, "settle_pending", project_id=P, runs=[RUN], packed=[])
    assert [(row["run_id"].hex, row["pending"]) for row in waiting] == [(RUN, 1)]
    assert await conn.fetchval(READ) - before <= MOST_READ


async def test_rows_that_are_touched_are_seen_today(conn: Conn):
    asked = await refs(conn)
    for _ in range(2):
        found = await statements.column(conn, "touch", project_id=P, refs=[*asked, b"nowhere"], today=TODAY)
        assert sorted(found) == sorted(asked)
    seen = "select count(*) from {} where last_seen = $1 and ref = any($2)"
    for table in ("thread_node", "content"):
        assert await conn.fetchval(seen.format(table), TODAY, asked) == len(asked) // 2
        assert await conn.fetchval(f"select count(*) from {table} where last_seen = $1", TODAY) == len(asked) // 2


async def test_runs_with_the_same_context_are_looked_up_in_a_table_without_statistics(conn: Conn):
    """200 runs of 30 calls; each call of one of them had the same context as one call of another run."""
    await conn.execute("""
        insert into llm_call (project_id, run_id, seq, thread)
        select 1, lpad(to_hex(run + 1), 32, '0')::uuid, seq, case when run < 2 then seq else run * 1000 + seq end
        from generate_series(0, 199) as run, generate_series(1, 30) as seq
    """)
    read = READ.replace("'thread_node', 'content'", "'llm_call'")
    before = await conn.fetchval(read)
    part = {"runs": [f"{1:032x}"], "afters": [0], "uptos": [30], "without": [f"{1:032x}"]}
    found = await statements.rows(conn, "runs_with_same_context", project_id=P, how_many=10, **part)
    assert [(row["run_id"].int, row["seq"], row["here"]) for row in found] == [(2, 30, 30)]
    assert await conn.fetchval(read) - before <= 300
