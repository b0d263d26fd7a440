"""[store] → project: the transactions of projecting: one for the runs, and before it those that store threads.

Threads are stored in transactions of their own, because these take the locks that ingest takes. Meanwhile, no run is
locked.
"""

import datetime
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from playhead.model.ref import ContentRef
from playhead.wire.pack import ThreadExtension
from playhead_collector.errors import StoreCollision
from playhead_collector.store.ports import Kept, RunWork
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres import threads
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.gc.gate import begin_write
from playhead_collector.store.postgres.ingest import StoreMemory, day
from playhead_collector.store.postgres.projecting.runs_under_lock import ThreadsNotStored, working
from playhead_collector.store.postgres.statements import Conn

# The second attempt finds the threads that the first one stored, unless more records arrived meanwhile.
_ATTEMPTS = 5


@asynccontextmanager
async def works(
    db: Database,
    memory: StoreMemory,
    project_id: int,
    ids: Sequence[UUID],
    kept: Mapping[str, Kept],
    *,
    wait: bool,
    now_ns: int,
) -> AsyncGenerator[Sequence[RunWork]]:
    """See `ports.EventStore.works`."""
    await _adopt_orphans(db, memory, project_id, day(now_ns))
    for _ in range(_ATTEMPTS):
        try:
            async with (
                db.attempt() as conn,
                working(conn, memory.packs, project_id, ids, kept, wait=wait, now_ns=now_ns) as run_works,
            ):
                yield run_works
            return
        except ThreadsNotStored as missing:
            await _store(db, memory, project_id, missing.threads, day(now_ns))
    raise StoreCollision("log records of these runs arrive faster than their threads are stored: try again")


async def _adopt_orphans(db: Database, memory: StoreMemory, project_id: int, today: datetime.date) -> None:
    """Stores waiting thread extensions whose parents have arrived."""
    async with db.reading() as conn:
        waiting = await sql.value(conn, "has_orphans", project_id=project_id)
    if waiting:
        await db.transact(lambda conn: threads.adopt(conn, memory.packs, memory.lineage_numbers, project_id, today))


async def _store(
    db: Database, memory: StoreMemory, project_id: int, missing: Sequence[Sequence[ContentRef]], today: datetime.date
) -> None:
    extensions = [ThreadExtension(None, tuple(messages)) for messages in missing]

    async def attempt(conn: Conn) -> None:
        write_context = await begin_write(conn, project_id)
        await threads.put(conn, memory.packs, memory.lineage_numbers, write_context, extensions, today)

    await db.transact(attempt)
