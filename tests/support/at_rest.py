"""Waits until a collector has done all that it does by itself with the runs that it has."""

import asyncio
import time

import asyncpg

_SECONDS = 180
_LEFT = """
    select (select count(*) from run_news where dirty_since_ns is not null)
        + (select count(*) from run where not (sealed and searched))
        + (select count(*) from packing_due)
        + (select count(*) from run_outcome
            where undescribed or suspects_ns is null and outcome in ('failed', 'crashed'))
"""


async def until_at_rest(dsn: str, runs: int) -> None:
    """Returns when there are so many runs, and each of them is projected, sealed, packed, and looked through for the
    search and for what it came to. Answers about them change no more."""
    connection = await asyncpg.connect(dsn)
    try:
        deadline = time.monotonic() + _SECONDS
        while await connection.fetchval(f"{_LEFT} + abs($1 - (select count(*) from run))", runs):
            assert time.monotonic() < deadline, await connection.fetch(
                "select sealed, searched, count(*) from run group by 1, 2"
            )
            await asyncio.sleep(0.1)
    finally:
        await connection.close()
