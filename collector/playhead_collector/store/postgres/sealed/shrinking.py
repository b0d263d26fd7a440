"""[store]: gives back the space of rows that have moved into packs.

A vacuum makes that space free for other rows, but an index does not get smaller by it: a table through which everything
passes would keep the size that it had when most was passing.  Rewriting a table that has few rows left takes a few
milliseconds, and nothing else can be done with it in that time.
"""

from asyncpg.exceptions import LockNotAvailableError

from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database

# A table with more rows is in use, and is left to autovacuum: rewriting it would take longer than ingest may wait.
_MOST_ROWS = 20_000
# A row with its index entries, generously; and what empty tables have anyway.
_ROW_BYTES, _EMPTY_BYTES = 1_000, 48 * 1024
_LOCK_TIMEOUT_MS = 250


async def shrink(db: Database) -> bool:
    """Rewrites tables that are mostly empty; False when one was in use, and is left for the next time."""
    done = True
    async with db.reading() as conn:
        for row in await sql.rows(conn, "waste", enough=_MOST_ROWS):
            if row["rows"] >= _MOST_ROWS or row["bytes"] < 2 * (_EMPTY_BYTES + row["rows"] * _ROW_BYTES):
                continue
            try:
                await conn.execute(f"set lock_timeout = {_LOCK_TIMEOUT_MS}")
                await conn.execute(f"vacuum (full) {row['name']}")
            except LockNotAvailableError:
                done = False
            finally:
                await conn.execute("reset lock_timeout")
    return done
