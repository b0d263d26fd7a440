"""Handlers of leases: take, renew and release the lease of a run."""

import re

from playhead.model.times import rfc3339
from playhead.wire.operations.leases import LeaseOperations, Released, RunLease
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.handling import changes
from playhead_collector.read.retention import is_thinned, why_thinned
from playhead_collector.store.ports.leases import LeaseRequest, LeaseResult, StoredLease

_RUN_ID = re.compile("[0-9a-f]{32}")


@changes(LeaseOperations.take_lease)
async def take_lease(
    asking: Changing,
    run: str,
    *,
    holder: str,
    process: str,
    seconds: float,
    attempt: int = 0,
    force: bool = False,
    unless_heard: bool = False,
    unless_undelivered: bool = False,
    begun_here: bool = False,
) -> RunLease:
    request = LeaseRequest(
        holder=holder,
        process=process,
        seconds=seconds,
        attempt=attempt,
        force=force,
        unless_heard=unless_heard,
        unless_undelivered=unless_undelivered,
        begun_here=begun_here,
    )
    await _check_whole(asking, _checked_id(run))
    return _granted_lease(run, await asking.store.leases.take(asking.project_id, run, request))


@changes(LeaseOperations.renew_lease)
async def renew_lease(
    asking: Changing, run: str, *, holder: str, seconds: float, process: str = "", attempt: int | None = None
) -> RunLease:
    renewed = await asking.store.leases.renew(
        asking.project_id, _checked_id(run), holder, seconds, process=process, attempt=attempt
    )
    return _granted_lease(run, renewed)


@changes(LeaseOperations.release_lease)
async def release_lease(
    asking: Changing, run: str, *, holder: str, process: str = "", attempt: int | None = None
) -> Released:
    released = await asking.store.leases.release(
        asking.project_id, _checked_id(run), holder, process=process, attempt=attempt
    )
    return {"released": released}


async def _check_whole(asking: Changing, run: str) -> None:
    """Refuses a run of which something may be gone by a rule of retention: it cannot be answered from its record."""
    row = await asking.store.runs.get(asking.project_id, run)
    if row is not None and is_thinned(row):
        message = f"{why_thinned(row)}: what its record is answered with may be gone, so it cannot go on; start it anew"
        raise Refused(409, "thinned", message)


def _checked_id(run: str) -> str:
    if not _RUN_ID.fullmatch(run):
        raise Refused(404, "no_such_run", f"{run[:40]!r} is no run's id: that has 32 hex digits")
    return run


def _granted_lease(run: str, result: LeaseResult) -> RunLease:
    """The lease that was granted. Raises Refused (409) if it was not."""
    if result.lease is not None:
        return _lease_answer(run, result.lease)
    held = result.held
    if result.undelivered and held is None:
        raise Refused(409, "holder_unknown", "nobody has said yet that all its records have arrived")
    if result.undelivered and held is not None:
        who = f"run {run} belonged to {held.process}, which has not said that all its records have arrived"
        raise Refused(409, "records_undelivered", who)
    if held is not None and held.is_held:
        since, until = rfc3339(held.since_ns)[:19], rfc3339(held.until_ns)[:19]
        holder = f"run {run} belongs to {held.process} since {since} UTC, until {until} UTC"
        message = f"{holder}, or longer if that process renews its lease"
        raise Refused(409, "lease_held", message)
    if result.heard_ns is not None:
        heard = rfc3339(result.heard_ns)[:19]
        raise Refused(409, "run_alive", f"run {run} is still sending: its last spans came at {heard} UTC")
    if held is not None:
        since = rfc3339(held.since_ns)[:19]
        raise Refused(409, "lease_gone", f"run {run} was taken over by {held.process} at {since} UTC")
    raise Refused(409, "lease_gone", f"run {run} has no lease")


def _lease_answer(run: str, lease: StoredLease) -> RunLease:
    return {
        "run": run,
        "holder": lease.holder,
        "process": lease.process,
        "attempt": lease.attempt,
        "since": rfc3339(lease.since_ns),
        "until": rfc3339(lease.until_ns),
    }
