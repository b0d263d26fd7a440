"""A connection past the store that leaves an empty database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg


@asynccontextmanager
async def emptied_afterwards(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection; at the end the tables are empty. Emptying a database takes a tenth of the time to make one."""
    connection = await asyncpg.connect(database_url)
    try:
        yield connection
        tables = await connection.fetch("select relname from pg_stat_user_tables where relname !~ 'project|alembic'")
        for (table,) in tables:
            await connection.execute(f"delete from {table}")
    finally:
        await connection.close()
