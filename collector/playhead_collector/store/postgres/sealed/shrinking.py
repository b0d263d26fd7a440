"""[store]: frees the space of rows that have moved into packs.

A vacuum makes that space free for other rows, but does not make an index smaller: a table through which all data passes
would keep its largest size.  Rewriting a table with few remaining rows takes a few milliseconds, in which the table is
locked.
"""

from asyncpg.exceptions import LockNotAvailableError

from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database

# A table with more rows is left to autovacuum: rewriting it would make ingest wait too long.
_MOST_ROWS = 20_000
# Upper bound of a row with its index entries, in bytes; and the size of empty tables.
_ROW_BYTES, _EMPTY_BYTES = 1_000, 48 * 1024
_LOCK_TIMEOUT_MS = 250


async def shrink(db: Database) -> bool:
    """Rewrites tables that are mostly empty. Returns False when a table was in use: try again later."""
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
