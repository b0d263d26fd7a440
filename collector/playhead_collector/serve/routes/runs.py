"""Routes for runs and what was recorded in them: events, state, context, messages, calls, spans, log events."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response

from playhead.wire import operations
from playhead.wire.operations.runs import RunLog
from playhead_collector.errors import Refused
from playhead_collector.live.messages import View
from playhead_collector.read.calls import list_llm_calls, list_tool_calls
from playhead_collector.read.context import answer_context
from playhead_collector.read.events import EventFilter, list_checkpoints, list_events, list_last_events
from playhead_collector.read.messages import list_history
from playhead_collector.read.paging import read_seq
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunProjector, RunRecord, open_record
from playhead_collector.read.runs import list_runs, run_detail
from playhead_collector.read.scores import read_condition
from playhead_collector.read.spans import list_logs, list_spans
from playhead_collector.read.state import answer_state
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get
from playhead_collector.serve.routes.streams import EVENT_STREAM, LiveStreams
from playhead_collector.store.ports import Store


class RunRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: Store, runner: RunProjector, project_id: int, prices: Prices, live: LiveStreams) -> None:
        self._store, self._runner, self._project_id, self._prices = store, runner, project_id, prices
        self._live = live

    async def _open(self, run: str) -> RunRecord:
        return await open_record(self._store, self._runner, self._project_id, run)

    async def runs(
        self,
        where: params.RunConditions,
        fork_of: params.Word = None,
        trace: params.TraceId = None,
        linked: params.Word = None,
        id: Annotated[str | None, Query(pattern="^[0-9a-f]{1,32}$", description="Part of the run's id.")] = None,  # noqa: A002 - the name in the URL
        score: Annotated[
            str | None, Query(max_length=500, pattern=r"^[^\x00]+$", description="NAME, NAME=VALUE or NAME>=NUMBER.")
        ] = None,
        limit: params.Limit = 50,
        cursor: params.Cursor = None,
    ) -> Response:
        """List runs, newest first. Only runs that meet all conditions.

        `text` is searched in names, sessions, users, agents and tags. `since` and `until` limit the time of the start.
        `fork_of` is the id of the run from which they were forked. `trace` is the id of a trace that has spans of them:
        runs that share one are no part of each other. `linked` is the id of a run that they name and are no part of.
        `score` is a condition for the run's latest score of a name; besides `=` and `>=` there are `>`, `<` and `<=`.
        """
        where = replace(where, fork_of=fork_of, trace=trace, linked=linked, id_part=id, score=read_condition(score))
        await self._runner.catch_up()
        return json_answer(await list_runs(self._store, self._project_id, where, limit, cursor, self._prices))

    async def run(self, run: params.RunId) -> Response:
        """Summary of a run: status, agents, models, usage, cost, metadata, error, forks.

        `completeness` says whether parts of the record are missing. `links` has the paths of further answers.
        """
        return json_answer(await run_detail(await self._open(run), self._prices))

    async def events(
        self,
        run: params.RunId,
        after: Annotated[int, Query(ge=0, le=999_999_999, description="Only events with a greater seq.")] = 0,
        kinds: params.Kinds = None,
        priority: params.Priority | None = None,
        since: params.Time = None,
        preview: Annotated[
            int, Query(ge=0, le=10_000, description="Length of the preview of each value, in characters; 0: none.")
        ] = 0,
        limit: Annotated[
            int | None, Query(ge=1, le=1_000, description="Maximum number; default: 100; live: any.")
        ] = None,
        last: Annotated[
            int | None, Query(ge=1, le=1_000, description="Only the last so many; live: from there on.")
        ] = None,
        cursor: params.Cursor = None,
        accept: Annotated[str, Header(include_in_schema=False)] = "",
        last_event_id: params.LastEventId = None,
    ) -> Response:
        """Events of a run, in order of `seq`.

        A page may have fewer than `limit` events although more follow: continue while there is a `next_cursor`.

        With `Accept: text/event-stream`, the answer is a live stream of server-sent events: first the events that are
        there, then each one as it becomes known, until the run has ended. It goes on behind `Last-Event-ID`.
        """
        where = EventFilter(params.read_kinds(kinds), priority, params.read_time(since))
        if last is not None and (cursor is not None or after):
            raise Refused(400, "bad_parameter", "`last` counts from the end: leave out `after` and `cursor`")
        if "text/event-stream" in accept.lower():
            if cursor is not None:
                raise Refused(400, "bad_parameter", "a stream has no pages: leave out `cursor`, or Accept")
            record = await self._open(run)
            after = after if last is None else max(0, record.last - last)
            return await self._live.stream(record.run, View(where, preview), last_event_id, limit, after=after)
        if last is not None:
            return json_answer(await list_last_events(await self._open(run), where, min(last, limit or last), preview))
        start = read_seq(cursor) if cursor else after
        limit = 100 if limit is None else limit
        return json_answer(await list_events(await self._open(run), where, limit, start, preview))

    async def state(self, run: params.RunId, at: params.At = None, hydrate: params.Hydrate = False) -> Response:
        """State of the run directly after an event, computed from its events up to that one."""
        return json_answer(await answer_state(await self._open(run), at, hydrate, self._prices))

    async def context(
        self,
        run: params.RunId,
        at: params.At = None,
        form: Annotated[Literal["parts", "openai"], Query(description="The shape of `messages`.")] = "parts",
        exact: Annotated[bool, Query(description="Also return `request`: the request's body as it was sent.")] = False,
    ) -> Response:
        """Input of a model call: system instructions, tools, messages and settings, exactly as the model received them.

        It is the call that the event `at` belongs to, or else the last one that began before that event.
        """
        return json_answer(await answer_context(await self._open(run), at, form, exact))

    async def messages(
        self,
        run: params.RunId,
        at: params.At = None,
        limit: params.Limit = 100,
        cursor: params.Cursor = None,
        hydrate: params.Hydrate = True,
    ) -> Response:
        """All messages of the run up to the event `at`, in order. Each is listed once, at the event that added it.

        `in_context` says whether the message was in its agent's context at that event. `removed` names the compression
        that removed it.
        """
        return json_answer(await list_history(await self._open(run), limit, read_seq(cursor), hydrate, at))

    async def llm_calls(
        self,
        run: params.RunId,
        limit: params.Limit = 100,
        cursor: params.Cursor = None,
        hydrate: params.Hydrate = False,
    ) -> Response:
        """Model calls of a run, in order of their start.

        With `hydrate`, the value of a thread is its last node only; the messages are in the call's context.
        """
        return json_answer(await list_llm_calls(await self._open(run), limit, read_seq(cursor), hydrate))

    async def tool_calls(
        self,
        run: params.RunId,
        limit: params.Limit = 100,
        cursor: params.Cursor = None,
        hydrate: params.Hydrate = False,
    ) -> Response:
        """Tool calls of a run, in order of their start."""
        return json_answer(await list_tool_calls(await self._open(run), limit, read_seq(cursor), hydrate))

    async def spans(self, run: params.RunId, limit: params.Limit = 500, cursor: params.Cursor = None) -> Response:
        """Spans of a run with their attributes as stored, in tree order: each span after its parent."""
        return json_answer(await list_spans(await self._open(run), limit, read_seq(cursor)))

    async def checkpoints(
        self,
        run: params.RunId,
        preview: Annotated[
            int, Query(ge=0, le=10_000, description="Length of the preview of each state, in characters; 0: none.")
        ] = 0,
        limit: params.Limit = 100,
        cursor: params.Cursor = None,
    ) -> Response:
        """Checkpoints of a run, oldest first: states that it can go on from, with refs of state and thread."""
        start = read_seq(cursor) if cursor else 0
        return json_answer(await list_checkpoints(await self._open(run), limit, start, preview))

    async def logs(self, run: params.RunId, limit: params.Limit = 500, cursor: params.Cursor = None) -> Response:
        """Log events of a run as stored, in order of time: state, checkpoints, annotations and other log events."""
        return json_answer(await list_logs(await self._open(run), limit, read_seq(cursor)))


def add_routes(
    api: APIRouter, store: Store, runner: RunProjector, project_id: int, prices: Prices, live: LiveStreams
) -> None:
    """Registers the operations of this file."""
    routes = RunRoutes(store, runner, project_id, prices, live)
    get(api, "runs", "/runs", routes.runs, operations.Page[operations.RunSummary])
    get(api, "runs", "/runs/{run}", routes.run, operations.RunDetail)
    get(api, "runs", "/runs/{run}/events", routes.events, operations.Page[operations.RecordedEvent], also=EVENT_STREAM)
    get(api, "moments", "/runs/{run}/state", routes.state, operations.StateAt)
    get(api, "moments", "/runs/{run}/context", routes.context, operations.ContextAt)
    get(api, "moments", "/runs/{run}/checkpoints", routes.checkpoints, operations.Page[operations.CheckpointEntry])
    get(api, "calls", "/runs/{run}/messages", routes.messages, operations.Page[operations.HistoryEntry])
    get(api, "calls", "/runs/{run}/llm-calls", routes.llm_calls, operations.Page[operations.LlmCall])
    get(api, "calls", "/runs/{run}/tool-calls", routes.tool_calls, operations.Page[operations.ToolCall])
    get(api, "calls", "/runs/{run}/spans", routes.spans, operations.Page[operations.TraceSpan])
    get(api, "calls", "/runs/{run}/logs", routes.logs, operations.Page[RunLog])
