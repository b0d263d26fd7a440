"""serve → [store]: leases on runs.  Times are from the database's clock, so the holders' clocks do not matter."""

from collections.abc import Callable
from uuid import UUID

from asyncpg import Record

from playhead_collector.store.ports.leases import LeaseResult, StoredLease
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn


class PostgresLeaseStore:
    """Implements `ports.leases.LeaseStore`."""

    _db: Database
    _clock: Callable[[], int]

    async def take_lease(
        self, project: int, run: str, holder: str, process: str, seconds: float, *, force: bool, unless_heard: bool
    ) -> LeaseResult:
        quiet_ns = self._clock() - int(seconds * 1e9) if unless_heard else None  # arrivals are told by this clock
        return await self._db.transact(
            lambda conn: take(conn, project, id_of(run), holder, process, seconds, force=force, quiet_ns=quiet_ns)
        )

    async def renew_lease(self, project: int, run: str, holder: str, seconds: float) -> LeaseResult:
        return await self._db.transact(lambda conn: renew(conn, project, id_of(run), holder, seconds))

    async def release_lease(self, project: int, run: str, holder: str) -> bool:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "release_lease", project=project, run=id_of(run), holder=holder) > 0


async def take(
    conn: Conn, project: int, run: UUID, holder: str, process: str, seconds: float, *, force: bool, quiet_ns: int | None
) -> LeaseResult:
    """See `lease_ports.LeaseStore.take_lease`; `quiet_ns`: also refused if spans arrived after this time."""
    found = await sql.row(conn, "lease", project=project, run=run)
    if quiet_ns is not None and not force and (found is None or found["holder"] != holder):
        news = await sql.row(conn, "news", project=project, run=run)
        # Processes that were handed a part of the run may go on without the one that resumes it.
        heard_ns = 0 if news is None else news["own_arrived_ns"] or news["arrived_ns"]
        if heard_ns > quiet_ns:
            return LeaseResult(None, _lease(found) if found is not None and found["is_held"] else None, heard_ns)
    await sql.run(conn, "forget_leases")
    who = {"holder": holder, "process": process}
    taken = await sql.row(conn, "take_lease", project=project, run=run, seconds=seconds, force=force, **who)
    held = None if taken is not None else await sql.row(conn, "lease", project=project, run=run)
    return LeaseResult(_lease(taken), _lease(held), None)


async def renew(conn: Conn, project: int, run: UUID, holder: str, seconds: float) -> LeaseResult:
    """See `lease_ports.LeaseStore.renew_lease`."""
    renewed = await sql.row(conn, "renew_lease", project=project, run=run, holder=holder, seconds=seconds)
    held = None if renewed is not None else await sql.row(conn, "lease", project=project, run=run)
    return LeaseResult(_lease(renewed), _lease(held), None)


def _lease(row: Record | None) -> StoredLease | None:
    return None if row is None else StoredLease(row["holder"], row["process"], row["since_ns"], row["until_ns"])
