"""Who goes on with a run, as HTTP asks it: a lease that is taken, renewed, and given back."""

import re
from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from playhead.model.times import rfc3339
from playhead.wire.answers.leases import Released, RunLease
from playhead_collector.errors import Refused
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import conflict
from playhead_collector.serve.schemas import schema
from playhead_collector.store.ports import Store
from playhead_collector.store.ports.leases import LeaseResult, StoredLease

_RUN_ID = re.compile("[0-9a-f]{32}")
_MOST, _NO_NUL = 200, r"^[^\x00]*$"
# A day: whoever says nothing for longer does not mean to keep others out.
Seconds = Annotated[float, Body(gt=0, le=86_400, description="For how long, unless it is renewed.")]
Holder = Annotated[
    str,
    Body(min_length=1, max_length=_MOST, pattern=_NO_NUL, description="Who: renews it and gives it back, too."),
]
Process = Annotated[
    str, Body(min_length=1, max_length=_MOST, pattern=_NO_NUL, description="What people know the holder by.")
]
Force = Annotated[bool, Body(description="Take it from whoever has it.")]
Heard = Annotated[bool, Body(description="Refuse also when spans of the run have come within `seconds`.")]
Whose = Annotated[str, Query(min_length=1, max_length=_MOST, pattern=_NO_NUL, description="Who has it.")]


class LeaseRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, store: Store, project: int) -> None:
        self._store, self._project = store, project

    async def take_lease(
        self,
        run: p.RunId,
        holder: Holder,
        process: Process,
        seconds: Seconds,
        force: Force = False,
        unless_heard: Heard = False,
    ) -> Response:
        """Be the only one who goes on with a run, for so many seconds; 409 says who does.

        The run need not be known: its record may still be on its way.
        """
        taken = await self._store.take_lease(
            self._project, _id(run), holder, process, seconds, force=force, unless_heard=unless_heard
        )
        return json_answer(_granted(run, taken))

    async def renew_lease(self, run: p.RunId, holder: Holder, seconds: Seconds) -> Response:
        """Still be the one, for so many seconds from now; 409 when another has taken the run over."""
        return json_answer(_granted(run, await self._store.renew_lease(self._project, _id(run), holder, seconds)))

    async def release_lease(self, run: p.RunId, holder: Whose) -> Response:
        """Others may go on with the run from now."""
        answer: Released = {"released": await self._store.release_lease(self._project, _id(run), holder)}
        return json_answer(answer)


def _id(run: str) -> str:
    if not _RUN_ID.fullmatch(run):
        raise Refused(404, "no_such_run", f"{run[:40]!r} is no run's id: that has 32 hex digits")
    return run


def _granted(run: str, taken: LeaseResult) -> RunLease:
    """Raises Refused: 409."""
    if taken.lease is not None:
        return _answer(run, taken.lease)
    if (held := taken.held) is not None:
        since, until = rfc3339(held.since_ns)[:19], rfc3339(held.until_ns)[:19]
        message = f"run {run} belongs to {held.process} since {since} UTC, until {until} UTC unless that says more"
        raise Refused(409, "lease_held", message)
    if taken.heard_ns is not None:
        heard = rfc3339(taken.heard_ns)[:19]
        raise Refused(409, "run_alive", f"run {run} is still sending: its last spans came at {heard} UTC")
    raise Refused(409, "lease_gone", f"run {run} has no lease any more: another had taken it, and given it back")


def _answer(run: str, lease: StoredLease) -> RunLease:
    since, until = rfc3339(lease.since_ns), rfc3339(lease.until_ns)
    return {"run": run, "holder": lease.holder, "process": lease.process, "since": since, "until": until}


_HELD = "Another process goes on with the run; the message says which, and since when."


def add_routes(api: APIRouter, store: Store, project: int) -> None:
    """Registers the operations of this file."""
    routes, path, lease, held = LeaseRoutes(store, project), "/runs/{run}/lease", schema(RunLease), conflict(_HELD)
    api.post(path, tags=["runs"], name="take_lease", response_model=lease, responses=held)(routes.take_lease)
    api.put(path, tags=["runs"], name="renew_lease", response_model=lease, responses=held)(routes.renew_lease)
    api.delete(path, tags=["runs"], name="release_lease", response_model=schema(Released))(routes.release_lease)
