"""Handlers of forwarding to other backends."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from playhead.model.times import rfc3339
from playhead.wire.operations.forward import (
    LARGEST_NUMBER,
    Affected,
    Backfilled,
    DestinationAnswer,
    Destinations,
    ForwardDeadLetters,
    ForwardOperations,
)
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.errors import Refused
from playhead_collector.forward.forwarder import DestinationStatus, Forwarder
from playhead_collector.forward.worker import ForwardWorker, WorkerState
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.conditions import read_time
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.record import run_named

_NS = 1_000_000_000


@handles_with_store(ForwardOperations.destinations)
async def destinations(asking: Changing) -> Destinations:
    _check_project(asking)
    now_ns = asking.services.clock()
    return {"items": [_about(status, now_ns) for status in await _forwarder(asking).status()]}


@handles_with_store(ForwardOperations.dead_letters)
async def dead_letters(asking: Changing, destination: str, *, after: int = 0, limit: int = 100) -> ForwardDeadLetters:
    _check_project(asking)
    entries = await asking.store.outbox.dead_letters(destination, limit + 1, after)
    return {
        "items": [
            {
                "entry": entry.number,
                "run": entry.run,
                "reason": entry.reason,
                "arrived": rfc3339(entry.created_ns),
                "spans": list(entry.spans),
                "logs": entry.logs,
            }
            for entry in entries[:limit]
        ],
        "next_after": entries[limit - 1].number if len(entries) > limit else None,
    }


@changes(ForwardOperations.retry_forward)
async def retry_forward(asking: Changing, destination: str, entries: Sequence[int] | None = None) -> Affected:
    worker = _configured(asking, destination)
    affected = await asking.store.outbox.retry_dead(destination, entries)
    worker.resume()
    return {"entries": affected}


@changes(ForwardOperations.drop_forward)
async def drop_forward(
    asking: Changing, destination: str, entries: Sequence[int] | None = None, *, waiting: bool = False
) -> Affected:
    _check_project(asking)
    return {"entries": await asking.store.outbox.drop(destination, entries, waiting=waiting)}


@changes(ForwardOperations.backfill)
async def backfill(
    asking: Changing, destination: str, run: str | None = None, *, since: str | datetime | None = None
) -> Backfilled:
    worker = _configured(asking, destination)
    if (run is None) == (since is None):
        raise Refused(400, "bad_request", "say which runs to send: give either `run` or `since`")
    named, since_ns = None, read_time(since) or 0
    if run is not None:
        await asking.catch_up()
        named = await run_named(asking.store, asking.project_id, run)
    recipient = worker.destination.recipient
    count = await asking.store.outbox.backfill(asking.project_id, recipient, named, min(since_ns, LARGEST_NUMBER))
    if named is not None and not count:
        raise Refused(404, "no_such_run", f"there is no run {named!r}: `playhead runs` lists them")
    worker.wake()
    return {"runs": count}


def _forwarder(asking: Changing) -> Forwarder:
    forwarder = asking.services.forwarder
    assert forwarder is not None  # noqa: S101 - without one, these operations have no route
    return forwarder


def _check_project(asking: Changing) -> None:
    """Raises Refused (403) unless the operator asks, or somebody of the first project: destinations are the
    operator's."""
    access = asking.request.access
    if access.project_id != FIRST_PROJECT and not access.is_operator:
        raise Refused(403, "operators_only", "destinations are the operator's: ask with the key PLAYHEAD_ADMIN_KEY")


def _configured(asking: Changing, name: str) -> ForwardWorker:
    _check_project(asking)
    forwarder = _forwarder(asking)
    worker = forwarder.worker(name)
    if worker is None:
        names = ", ".join(other.destination.name for other in forwarder.workers) or "there is none"
        message = f"this collector has no destination {name[:60]!r}: {names}; see `playhead forward status`"
        raise Refused(404, "no_such_destination", message)
    return worker


def _about(status: DestinationStatus, now_ns: int) -> DestinationAnswer:
    worker, outbox = status.worker, status.outbox
    settings = None if worker is None else worker.destination.settings
    waited = None if outbox.oldest_ns is None else max(0.0, (now_ns - outbox.oldest_ns) / _NS)
    counts = Counter[str]() if worker is None else worker.counts
    state = WorkerState() if worker is None else worker.state
    return {
        "name": status.name,
        "kind": settings and settings.KIND,
        "url": settings and settings.host,
        "content": settings and settings.content,
        "waiting": outbox.waiting_items,
        "lag_seconds": waited,
        "dead": outbox.dead_items,
        "sent_spans": counts["sent_spans"],
        "sent_logs": counts["sent_logs"],
        "left_out": counts["left_out"],
        "expired": counts["expired"],
        "failures": state.failures,
        "last_error": state.last_error,
        "last_error_at": _time(state.last_error_ns),
        "accepted_at": _time(state.accepted_ns),
        "paused_until": _time(state.paused_until_ns),
    }


def _time(time_ns: int) -> str | None:
    return rfc3339(time_ns) if time_ns else None
