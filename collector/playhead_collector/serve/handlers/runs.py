"""Routes for runs: what was recorded in them, and leases on them.

Recorded are events, state, context, messages, calls, spans and log events. While a process holds the lease of a run, no
other process resumes the run.
"""

import re
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import Body, Query, Response

from playhead.model.times import rfc3339
from playhead.wire import operations
from playhead.wire.operations.moments import MomentOperations
from playhead.wire.operations.runs import Released, RunLease, RunLog, RunOperations
from playhead_collector.errors import Refused
from playhead_collector.read.calls import list_llm_calls, list_tool_calls
from playhead_collector.read.context import answer_context
from playhead_collector.read.events import list_checkpoints
from playhead_collector.read.messages import list_history
from playhead_collector.read.paging import read_seq
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunProjector, RunRecord, open_record
from playhead_collector.read.runs import run_detail
from playhead_collector.read.spans import list_logs, list_spans
from playhead_collector.serve import routing
from playhead_collector.serve.operations import OperationRoutes
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, conflict, get, schema
from playhead_collector.store.ports import ReadStore

if TYPE_CHECKING:  # the journal of a machine is read without Postgres' driver
    from playhead_collector.store.postgres.leases import PostgresLeases
from playhead_collector.store.ports.leases import LeaseRequest, LeaseResult, StoredLease


class RunRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: ReadStore, runner: RunProjector, project_id: int, prices: Prices) -> None:
        self._store, self._runner, self._project_id, self._prices = store, runner, project_id, prices

    async def _open(self, run: str) -> RunRecord:
        return await open_record(self._store, self._runner, self._project_id, run)

    async def run(self, run: routing.RunId) -> Response:
        """Summary of a run: status, agents, models, usage, cost, metadata, error, forks.

        `completeness` says whether parts of the record are missing. `links` has the paths of further answers.
        """
        return json_answer(await run_detail(await self._open(run), self._prices))

    async def context(
        self,
        run: routing.RunId,
        at: routing.At = None,
        form: Annotated[Literal["parts", "openai"], Query(description="The shape of `messages`.")] = "parts",
        exact: Annotated[bool, Query(description="Also return `request`: the request's body as it was sent.")] = False,
    ) -> Response:
        """Input of a model call: system instructions, tools, messages and settings, exactly as the model received them.

        It is the call that the event `at` belongs to, or else the last one that began before that event.
        """
        return json_answer(await answer_context(await self._open(run), at, form, exact))

    async def messages(
        self,
        run: routing.RunId,
        at: routing.At = None,
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
        hydrate: routing.Hydrate = True,
    ) -> Response:
        """All messages of the run up to the event `at`, in order. Each is listed once, at the event that added it.

        `in_context` says whether the message was in its agent's context at that event. `removed` names the compression
        that removed it.
        """
        return json_answer(await list_history(await self._open(run), limit, read_seq(cursor), hydrate, at))

    async def llm_calls(
        self,
        run: routing.RunId,
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
        hydrate: routing.Hydrate = False,
    ) -> Response:
        """Model calls of a run, in order of their start.

        With `hydrate`, the value of a thread is its last node only; the messages are in the call's context.
        """
        return json_answer(await list_llm_calls(await self._open(run), limit, read_seq(cursor), hydrate))

    async def tool_calls(
        self,
        run: routing.RunId,
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
        hydrate: routing.Hydrate = False,
    ) -> Response:
        """Tool calls of a run, in order of their start."""
        return json_answer(await list_tool_calls(await self._open(run), limit, read_seq(cursor), hydrate))

    async def spans(self, run: routing.RunId, limit: routing.Limit = 500, cursor: routing.Cursor = None) -> Response:
        """Spans of a run with their attributes as stored, in tree order: each span after its parent."""
        return json_answer(await list_spans(await self._open(run), limit, read_seq(cursor)))

    async def checkpoints(
        self,
        run: routing.RunId,
        preview: Annotated[
            int, Query(ge=0, le=10_000, description="Length of the preview of each state, in characters; 0: none.")
        ] = 0,
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
    ) -> Response:
        """Checkpoints of a run, oldest first: states that it can go on from, with refs of state and thread."""
        start = read_seq(cursor) if cursor else 0
        return json_answer(await list_checkpoints(await self._open(run), limit, start, preview))

    async def logs(self, run: routing.RunId, limit: routing.Limit = 500, cursor: routing.Cursor = None) -> Response:
        """Log events of a run as stored, in order of time: state, checkpoints, annotations and other log events."""
        return json_answer(await list_logs(await self._open(run), limit, read_seq(cursor)))


def add_routes(
    api: ApiRoutes, store: ReadStore, runner: RunProjector, project_id: int, prices: Prices, declared: OperationRoutes
) -> None:
    """Registers the operations of this file."""
    routes = RunRoutes(store, runner, project_id, prices)
    declared.add(api, RunOperations.runs)
    get(api, "runs", "/runs/{run}", routes.run, operations.RunDetail)
    declared.add(api, RunOperations.events, live=RunOperations.live_events)
    declared.add(api, MomentOperations.state)
    get(api, "moments", "/runs/{run}/context", routes.context, operations.ContextAt)
    get(api, "moments", "/runs/{run}/checkpoints", routes.checkpoints, operations.Page[operations.CheckpointEntry])
    get(api, "calls", "/runs/{run}/messages", routes.messages, operations.Page[operations.HistoryEntry])
    get(api, "calls", "/runs/{run}/llm-calls", routes.llm_calls, operations.Page[operations.LlmCall])
    get(api, "calls", "/runs/{run}/tool-calls", routes.tool_calls, operations.Page[operations.ToolCall])
    get(api, "calls", "/runs/{run}/spans", routes.spans, operations.Page[operations.TraceSpan])
    get(api, "calls", "/runs/{run}/logs", routes.logs, operations.Page[RunLog])


# --- leases ----------------------------------------------------------------------------------------------------------

_RUN_ID = re.compile("[0-9a-f]{32}")
_MAX_NAME_LENGTH = 200
# A day. A process that has not renewed its lease for so long has ended or no longer needs it.
Seconds = Annotated[float, Body(gt=0, le=86_400, description="Duration of the lease from now, in seconds.")]
Holder = Annotated[
    str,
    Body(
        min_length=1,
        max_length=_MAX_NAME_LENGTH,
        pattern=routing.NO_NUL,
        description="Id of the holder, also for renewal and release.",
    ),
]
Process = Annotated[
    str,
    Body(
        min_length=1,
        max_length=_MAX_NAME_LENGTH,
        pattern=routing.NO_NUL,
        description="Name of the process, shown in messages.",
    ),
]
Force = Annotated[bool, Body(description="Take the lease although another process holds it.")]
Heard = Annotated[bool, Body(description="Also refuse if spans of the run arrived within the last `seconds`.")]
Attempt = Annotated[int, Body(ge=0, le=1_000_000, description="Which attempt at the run the holder makes.")]
MaybeAttempt = Annotated[
    int | None,
    Body(ge=0, le=1_000_000, description="Which attempt at the run the holder makes."),
]
Undelivered = Annotated[
    bool, Body(description="Also refuse while records of the holder before may not have arrived, and name that holder.")
]
BegunHere = Annotated[bool, Body(description="The holder's journal has the run's first attempt.")]
Whose = Annotated[
    str, Query(min_length=1, max_length=_MAX_NAME_LENGTH, pattern=routing.NO_NUL, description="Id of the holder.")
]
WhoseProcess = Annotated[
    str,
    Query(
        min_length=1,
        max_length=_MAX_NAME_LENGTH,
        pattern=routing.NO_NUL,
        description="Name of the process, shown in messages.",
    ),
]
ReleasedAttempt = Annotated[
    int | None,
    Query(ge=0, le=1_000_000, description="Which attempt has ended. Also noted of a run that has no lease."),
]


class LeaseRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, leases: "PostgresLeases", project_id: int) -> None:
        self._leases, self._project_id = leases, project_id

    async def take_lease(
        self,
        run: routing.RunId,
        holder: Holder,
        process: Process,
        seconds: Seconds,
        attempt: Attempt = 0,
        force: Force = False,
        unless_heard: Heard = False,
        unless_undelivered: Undelivered = False,
        begun_here: BegunHere = False,
    ) -> Response:
        """Take the lease of a run for `seconds`: until it expires, no other holder can take it without `force`.

        409 when another process holds it; the message names that process. With `unless_heard`, also 409 when spans of
        the run arrived within the last `seconds`; with `unless_undelivered`, when records of the holder before may not
        have arrived. The run does not have to be stored yet.

        The answer's `attempt` is later than that of another holder before. A lease that is taken with `force` from a
        holder whose records may not have arrived is a takeover: what earlier attempts do from then on is not added to
        the run.
        """
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
        return json_answer(_granted_lease(run, await self._leases.take(self._project_id, _checked_id(run), request)))

    async def renew_lease(
        self, run: routing.RunId, holder: Holder, seconds: Seconds, process: Process = "", attempt: MaybeAttempt = None
    ) -> Response:
        """Extend a lease to `seconds` from now. 409 when this holder no longer has it.

        With an `attempt`, also 409 when it has the lease for a later one; a lease that nobody has taken is taken.
        """
        renewed = await self._leases.renew(
            self._project_id, _checked_id(run), holder, seconds, process=process, attempt=attempt
        )
        return json_answer(_granted_lease(run, renewed))

    async def release_lease(
        self, run: routing.RunId, holder: Whose, process: WhoseProcess = "", attempt: ReleasedAttempt = None
    ) -> Response:
        """Release a lease, so that another process can take it. `released` is false if this holder had none.

        It says that the holder does not go on with the run, and that all its records have arrived. With an `attempt`,
        that is noted of a run without a lease, too.
        """
        released = await self._leases.release(
            self._project_id, _checked_id(run), holder, process=process, attempt=attempt
        )
        answer: Released = {"released": released}
        return json_answer(answer)


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


_HELD = "The lease was not granted or not extended. The message says why, and which process holds it."


def add_lease_routes(api: ApiRoutes, leases: "PostgresLeases", project_id: int) -> None:
    """Registers the operations of this file."""
    routes, path, lease, held = LeaseRoutes(leases, project_id), "/runs/{run}/lease", schema(RunLease), conflict(_HELD)
    api.post(path, tags=["runs"], name="take_lease", response_model=lease, responses=held)(routes.take_lease)
    api.put(path, tags=["runs"], name="renew_lease", response_model=lease, responses=held)(routes.renew_lease)
    api.delete(path, tags=["runs"], name="release_lease", response_model=schema(Released))(routes.release_lease)
