"""Sessions of others in a database, which end a moment after their clients are gone, and what they are in the way of.

Until a session has ended, Postgres has not rolled back what it was doing: its rows and locks are in the way of others.
"""

import asyncio
from collections.abc import Collection

import asyncpg

_OTHERS = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"


async def sessions_of_stores(connection: asyncpg.Connection) -> set[int]:
    """Returns the process ids of all sessions that stores have in this database."""
    return {row["pid"] for row in await connection.fetch(f"{_OTHERS} and application_name = 'playhead'")}


async def wait_for_end_of_sessions(connection: asyncpg.Connection, but: Collection[int] = ()) -> None:
    """Returns when stores have no sessions in this database, apart from `but`. Raises TimeoutError after a minute."""
    async with asyncio.timeout(60):
        while await sessions_of_stores(connection) - set(but):
            await asyncio.sleep(0.01)


async def wait_for_end_of_snapshots(connection: asyncpg.Connection) -> None:
    """Returns when no statement of others runs in this database, autovacuum's included: VACUUM keeps rows that were
    deleted after such a statement began. Raises TimeoutError after a minute."""
    async with asyncio.timeout(60):
        while await connection.fetch(f"{_OTHERS} and backend_xmin is not null"):
            await asyncio.sleep(0.01)
