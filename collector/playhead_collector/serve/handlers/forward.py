"""Routes about forwarding to other backends. Routes that change something need the scope `admin`."""

from collections import Counter
from collections.abc import Callable
from typing import Annotated

from fastapi import Body, Path, Query, Response
from pydantic import Field

from playhead.model.times import rfc3339
from playhead.wire.operations.forward import Affected, Backfilled, DestinationAnswer, Destinations, ForwardDeadLetters
from playhead_collector.errors import Refused
from playhead_collector.forward.forwarder import DestinationStatus, Forwarder
from playhead_collector.forward.worker import ForwardWorker, WorkerState
from playhead_collector.handlers.conditions import read_time
from playhead_collector.read.record import RunProjector, run_named
from playhead_collector.serve import routing
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, get, schema
from playhead_collector.store.ports import Store

_NS = 1_000_000_000
_MOST_ENTRIES = 10_000
_BIGINT = 2**63 - 1
_NO_NUL = r"^[^\x00]*$"
Destination = Annotated[
    str, Path(min_length=1, max_length=100, pattern=_NO_NUL, description="The name of a destination.")
]
Number = Annotated[int, Field(ge=1, le=_BIGINT)]
Entries = Annotated[
    list[Number] | None,
    Body(max_length=_MOST_ENTRIES, embed=True, description="The `entry` of dead letters; null: all."),
]
Waiting = Annotated[bool, Body(description="Also forget what waits to be sent.")]
After = Annotated[int, Query(ge=0, le=_BIGINT, description="`next_after` of the page before.")]
Run = Annotated[
    str | None, Body(max_length=300, pattern=_NO_NUL, description="A run: its id, a unique part of it, or `last`.")
]
Since = Annotated[str | None, Body(max_length=50, description="RFC 3339, or a date: all runs that began since then.")]


class ForwardRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(
        self, store: Store, runner: RunProjector, project_id: int, forwarder: Forwarder, clock: Callable[[], int]
    ) -> None:
        self._store, self._runner, self._project_id, self._clock = store, runner, project_id, clock
        self._forwarder = forwarder

    async def destinations(self) -> Response:
        """List the backends that this collector forwards to, with what waits for each of them."""
        answer: Destinations = {"items": [self._about(status) for status in await self._forwarder.status()]}
        return json_answer(answer)

    async def dead_letters(self, destination: Destination, after: After = 0, limit: routing.Limit = 100) -> Response:
        """List what a destination refused, oldest first, with the reason."""
        entries = await self._store.dead_letters(destination, limit + 1, after)
        answer: ForwardDeadLetters = {
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
        return json_answer(answer)

    async def retry_forward(self, destination: Destination, entries: Entries = None) -> Response:
        """Send dead letters again, and end a pause that a failure of the destination has caused."""
        worker = self._configured(destination)
        answer: Affected = {"entries": await self._store.retry_dead(destination, entries)}
        worker.resume()
        return json_answer(answer)

    async def drop_forward(
        self, destination: Destination, entries: Entries = None, waiting: Waiting = False
    ) -> Response:
        """Forget dead letters: they are not sent. The spans stay stored, and can be sent with a backfill."""
        answer: Affected = {"entries": await self._store.drop_entries(destination, entries, waiting=waiting)}
        return json_answer(answer)

    async def backfill(self, destination: Destination, run: Run = None, since: Since = None) -> Response:
        """Send what is stored of one run, or of all runs that began since a time, also if it was sent before."""
        worker = self._configured(destination)
        if (run is None) == (since is None):
            raise Refused(400, "bad_request", "say which runs to send: give either `run` or `since`")
        named, since_ns = None, read_time(since) or 0
        if run is not None:
            await self._runner.catch_up()
            named = await run_named(self._store, self._project_id, run)
        recipient = worker.destination.recipient
        count = await self._store.backfill(self._project_id, recipient, named, min(since_ns, _BIGINT))
        if named is not None and not count:
            raise Refused(404, "no_such_run", f"there is no run {named!r}: `playhead runs` lists them")
        worker.wake()
        answer: Backfilled = {"runs": count}
        return json_answer(answer)

    def _configured(self, name: str) -> ForwardWorker:
        worker = self._forwarder.worker(name)
        if worker is None:
            names = ", ".join(other.destination.name for other in self._forwarder.workers) or "there is none"
            message = f"this collector has no destination {name[:60]!r}: {names}; see `playhead forward status`"
            raise Refused(404, "no_such_destination", message)
        return worker

    def _about(self, status: DestinationStatus) -> DestinationAnswer:
        worker, outbox = status.worker, status.outbox
        settings = None if worker is None else worker.destination.settings
        waited = None if outbox.oldest_ns is None else max(0.0, (self._clock() - outbox.oldest_ns) / _NS)
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


def add_routes(
    api: ApiRoutes,
    store: Store,
    runner: RunProjector,
    project_id: int,
    forwarder: Forwarder,
    clock: Callable[[], int],
) -> None:
    """Registers the operations of this file. `clock` gives ns since 1970."""
    routes = ForwardRoutes(store, runner, project_id, forwarder, clock)
    get(api, "forward", "/forward", routes.destinations, Destinations)
    get(api, "forward", "/forward/{destination}/dead", routes.dead_letters, ForwardDeadLetters)
    for path, handler, answer in (
        ("retry", routes.retry_forward, Affected),
        ("drop", routes.drop_forward, Affected),
        ("backfill", routes.backfill, Backfilled),
    ):
        to = f"/forward/{{destination}}/{path}"
        api.post(to, tags=["forward"], name=handler.__name__, response_model=schema(answer))(handler)
