"""Packs are found by their index, however many there are and however many keys are looked up."""

import asyncpg
import pytest

PACKS, KEYS = 3_000, 600
# As in real packs, keys are stored apart from the rows: Postgres takes reading them for cheap.
FILL = f"""
    alter table content_pack alter column keys set storage external;
    insert into content_pack (pack, project_id, packed, encoding, keys, body, runs)
    select n, 1, current_date, 0, array_fill(n::int, array[{KEYS}]), '', '{{}}' from generate_series(1, {PACKS}) as n;
    vacuum analyze content_pack;
"""
READ = "select seq_tup_read::int, idx_tup_fetch::int from pg_stat_xact_user_tables where relname = 'content_pack'"


@pytest.mark.parametrize("asked", [1, 20, 1_000])
async def test_only_packs_that_have_a_key_are_read(database_url: str, asked: int):
    connection = await asyncpg.connect(database_url)
    try:
        for statement in FILL.strip().split(";\n"):
            await connection.execute(statement)
        keys = [2, *range(-1, -asked, -1)]
        async with connection.transaction():
            assert [*map(tuple, await connection.fetch("select * from playhead_find_packs(1, $1)", keys))] == [(2, 0)]
            assert [*map(tuple, await connection.fetch(READ))] == [(0, 1)]
            assert await connection.fetch("select * from playhead_find_packs(2, $1)", keys) == []
    finally:
        await connection.close()
