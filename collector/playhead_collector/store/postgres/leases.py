"""serve → [store]: leases on runs.  Times are from the database's clock, so the holders' clocks do not matter."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from asyncpg import Record

from playhead_collector.store.ports.leases import LeaseRequest, LeaseResult, StoredLease
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn


class PostgresLeases:
    """Leases on runs. They prevent two processes from resuming the same run.  All methods raise StoreUnavailable."""

    def __init__(self, db: Database, clock: Callable[[], int]) -> None:
        self._db = db
        self._clock = clock

    async def take(self, project_id: int, run: str, request: LeaseRequest) -> LeaseResult:
        """Takes the lease if no other holder has it, or with `force`. The run need not exist.

        The granted attempt is at least the previous one, and greater than that of another holder. If it is taken with
        `force` while records of that holder may not have arrived, records that earlier attempts make from now on are
        not added to the run.
        """
        # Arrival times are from the collector's clock.
        quiet_ns = self._clock() - int(request.seconds * 1e9) if request.unless_heard else None
        return await self._db.transact(lambda conn: _take(conn, project_id, id_of(run), request, quiet_ns))

    async def renew(
        self, project_id: int, run: str, holder: str, seconds: float, *, process: str = "", attempt: int | None = None
    ) -> LeaseResult:
        """Extends the lease to `seconds` from now.

        Refused when another holder has taken the lease, or the same holder for a later attempt. With an `attempt` above
        0, a lease is taken if none is stored, or if the stored one has run out and is of an earlier attempt. The first
        attempt (0) needs no lease: if none is stored, it gets a lease that is not stored either.
        """
        request = LeaseRequest(holder=holder, process=process, seconds=seconds, attempt=attempt or 0)
        renewed = await self._db.transact(lambda conn: _renew(conn, project_id, id_of(run), request, attempt))
        if renewed == LeaseResult(None) and attempt == 0:  # not resumed yet: the first process needs no lease
            now_ns = self._clock()
            return LeaseResult(StoredLease(holder, process, now_ns, now_ns + int(seconds * 1e9)))
        return renewed

    async def release(
        self, project_id: int, run: str, holder: str, *, process: str = "", attempt: int | None = None
    ) -> bool:
        """Releases the lease: the holder does not continue the run, and all its records have arrived.

        Returns False when this holder does not have the lease, or has it for a later attempt. With an `attempt`, the
        delivery is also noted for a run that has no lease.
        """
        async with self._db.transaction() as conn:
            who = {"project_id": project_id, "run": id_of(run), "holder": holder, "attempt": attempt}
            if await sql.run(conn, "release_lease", **who) > 0:
                return True
            return attempt is not None and await sql.run(conn, "note_delivered", **who, process=process) > 0


async def _take(conn: Conn, project_id: int, run: UUID, request: LeaseRequest, quiet_ns: int | None) -> LeaseResult:
    before = _lease(await sql.row(conn, "lock_lease", project_id=project_id, run=run))
    if not request.force:
        heard_ns = await _heard(conn, project_id, run) if quiet_ns is not None else None
        refused = _refusal(before, request, heard_ns if heard_ns is not None and heard_ns > (quiet_ns or 0) else None)
        if refused is not None:
            return refused
    overtakes = _may_be_undelivered(before, request)
    if before is not None:
        later = before.attempt + (before.holder != request.holder)
        request = replace(request, attempt=max(request.attempt, later))
    lease = await _insert(conn, project_id, run, request)
    if lease is None:  # another holder was faster
        return LeaseResult(None, _lease(await sql.row(conn, "lock_lease", project_id=project_id, run=run)))
    if overtakes and request.force and request.attempt:
        await sql.run(conn, "insert_takeover", project_id=project_id, run=run, attempt=request.attempt)
    return LeaseResult(lease)


def _refusal(before: StoredLease | None, request: LeaseRequest, heard_ns: int | None) -> LeaseResult | None:
    """Returns the reason for refusing the lease without force; None if it is granted. `heard_ns`: the time when spans
    arrived too recently, or None. Pure."""
    is_own = before is not None and before.holder == request.holder
    if before is not None and before.is_held and not is_own:
        return LeaseResult(None, before)
    if heard_ns is not None and not (is_own or (before is not None and before.delivered)):
        return LeaseResult(None, None, heard_ns)
    if request.unless_undelivered and _may_be_undelivered(before, request):
        return LeaseResult(None, before, undelivered=True)
    return None


def _may_be_undelivered(before: StoredLease | None, request: LeaseRequest) -> bool:
    """Returns whether another journal may have records of the run that have not arrived. Pure."""
    if before is None:
        return not request.begun_here
    return before.holder != request.holder and not before.delivered


async def _renew(conn: Conn, project_id: int, run: UUID, request: LeaseRequest, attempt: int | None) -> LeaseResult:
    who = {"project_id": project_id, "run": run, "holder": request.holder, "seconds": request.seconds}
    renewed = await sql.row(conn, "renew_lease", **who, attempt=attempt)
    if renewed is not None:
        return LeaseResult(_lease(renewed))
    held = _lease(await sql.row(conn, "lock_lease", project_id=project_id, run=run))
    is_free = held is None or (not held.is_held and held.attempt < request.attempt)
    if attempt and is_free:
        return LeaseResult(await _insert(conn, project_id, run, request), held)
    return LeaseResult(None, held)


async def _insert(conn: Conn, project_id: int, run: UUID, request: LeaseRequest) -> StoredLease | None:
    who = {"holder": request.holder, "process": request.process, "attempt": request.attempt}
    how = {"seconds": request.seconds, "force": request.force}
    return _lease(await sql.row(conn, "take_lease", project_id=project_id, run=run, **who, **how))


async def _heard(conn: Conn, project_id: int, run: UUID) -> int | None:
    news = await sql.row(conn, "news", project_id=project_id, run=run)
    # The run's own process decides: processes that got a part of the run may still go on while another one resumes it.
    return None if news is None else news["own_arrived_ns"] or news["arrived_ns"]


def _lease(row: Record | None) -> StoredLease | None:
    if row is None:
        return None
    times = row["since_ns"], row["until_ns"]
    return StoredLease(row["holder"], row["process"], *times, row["attempt"], row["is_held"], row["delivered"])
