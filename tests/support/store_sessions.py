"""Sessions of stores in Postgres, which end a moment after their clients are gone.

Until then, Postgres has not rolled back what they were doing: their rows and locks are in the way of others.
"""

import asyncio
from collections.abc import Collection

import asyncpg

_THEIRS = """
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'playhead' and pid <> pg_backend_pid()
"""


async def sessions_of_stores(connection: asyncpg.Connection) -> set[int]:
    """Returns the process ids of all sessions that stores have in this database."""
    return {row["pid"] for row in await connection.fetch(_THEIRS)}


async def wait_for_end_of_sessions(connection: asyncpg.Connection, but: Collection[int] = ()) -> None:
    """Returns when stores have no sessions in this database, apart from `but`. Raises TimeoutError after a minute."""
    async with asyncio.timeout(60):
        while await sessions_of_stores(connection) - set(but):
            await asyncio.sleep(0.01)
