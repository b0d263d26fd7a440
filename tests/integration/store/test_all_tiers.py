"""A thousand made-up runs through all tiers, as the benchmark K1 does it with more: answers, and bytes."""

from pathlib import Path

import asyncpg

from playhead_collector.store.ports.tiers import Tier
from tests.support.many_runs.tiers import through_all_tiers

RUNS = 1_000


async def test_runs_go_through_all_tiers(module_database_url: str, sql: asyncpg.Connection, tmp_path: Path):
    figures = {each.tier: each async for each in through_all_tiers(module_database_url, tmp_path / "objects", RUNS)}
    await sql.execute("update project set retention = null")
    assert [sentence for each in figures.values() for sentence in each.different] == []
    empty = figures[Tier.DELETED].postgres
    taken = {tier: (each.postgres - empty) / RUNS for tier, each in figures.items()}
    # Contents of these runs are so alike that their packs stay in Postgres.
    assert taken[Tier.HOT] >= taken[Tier.WARM] > taken[Tier.COLD] > taken[Tier.ARCHIVE] > taken[Tier.DELETED]
    assert taken[Tier.COLD] < 2_000
    assert figures[Tier.HOT].objects == figures[Tier.DELETED].objects == 0
    assert 0 < figures[Tier.COLD].objects <= 4
