"""The questions about runs, as HTTP asks them: read the URL, ask, write the answer."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from playhead.wire import answers as a
from playhead.wire.answers.leases import RunLog
from playhead_collector.read.calls import list_llm_calls, list_tool_calls
from playhead_collector.read.context.context import answer_context
from playhead_collector.read.context.messages import list_history
from playhead_collector.read.events import EventFilter, list_events
from playhead_collector.read.paging import read_seq
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunProjector, RunRecord, open_record
from playhead_collector.read.runs import list_runs, run_detail
from playhead_collector.read.spans import list_logs, list_spans
from playhead_collector.read.state import answer_state
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import get
from playhead_collector.store.ports import RunFilter, Store


class RunRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, store: Store, runner: RunProjector, project: int, prices: Prices) -> None:
        self._store, self._runner, self._project, self._prices = store, runner, project, prices

    async def _open(self, run: str) -> RunRecord:
        return await open_record(self._store, self._runner, self._project, run)

    async def runs(
        self,
        agent: p.Word = None,
        status: p.Status | None = None,
        session: p.Word = None,
        user: p.Word = None,
        tag: p.Word = None,
        model: p.Word = None,
        tool: p.Word = None,
        fork_of: p.Word = None,
        text: p.Word = None,
        id: Annotated[str | None, Query(pattern="^[0-9a-f]{1,32}$", description="A part of the run's id.")] = None,  # noqa: A002 - its name in the URL
        since: p.Time = None,
        until: p.Time = None,
        limit: p.Limit = 50,
        cursor: p.Cursor = None,
    ) -> Response:
        """Runs, newest first; all conditions must hold.

        `text` is looked for in names, sessions, users, agents and tags; `since` and `until` bound the start; `fork_of`
        names the run that they were forked from.
        """
        where = RunFilter(
            agent=agent, status=status, session=session, user=user, tag=tag, model=model, tool=tool, fork_of=fork_of,
            text=text, id_part=id,
            since_ns=p.read_time(since), until_ns=p.read_time(until),
        )  # fmt: skip
        await self._runner.catch_up()
        return json_answer(await list_runs(self._store, self._project, where, limit, cursor, self._prices))

    async def run(self, run: p.RunId) -> Response:
        """One run in a few words: status, agents, models, usage, cost, metadata, error, forks.

        `completeness` says how whole its record is, `links` where to ask on.
        """
        return json_answer(await run_detail(await self._open(run), self._prices))

    async def events(
        self,
        run: p.RunId,
        after: Annotated[int, Query(ge=0, le=999_999_999, description="Only events behind this seq.")] = 0,
        kinds: p.Kinds = None,
        priority: p.Priority | None = None,
        since: p.Time = None,
        preview: Annotated[
            int, Query(ge=0, le=10_000, description="So many characters of each value that an event names; 0: none.")
        ] = 0,
        limit: p.Limit = 100,
        cursor: p.Cursor = None,
    ) -> Response:
        """What happened, in order.

        A page may hold fewer than `limit` events although more follow: go on while there is a `next_cursor`.
        """
        where = EventFilter(p.read_kinds(kinds), priority, p.read_time(since))
        start = read_seq(cursor) if cursor else after
        return json_answer(await list_events(await self._open(run), where, limit, start, preview))

    async def state(self, run: p.RunId, at: p.At = None, hydrate: p.Hydrate = False) -> Response:
        """The state of the run right after an event: the fold of its events up to there."""
        return json_answer(await answer_state(await self._open(run), at, hydrate, self._prices))

    async def context(
        self,
        run: p.RunId,
        at: p.At = None,
        form: Annotated[Literal["parts", "openai"], Query(description="The shape of `messages`.")] = "parts",
        exact: Annotated[bool, Query(description="Also `request`: the body as it was sent, key by key.")] = False,
    ) -> Response:
        """Exactly what the model saw: system, tools, messages and settings of the call that `at` belongs to.

        An event that is part of no model call means the last call that began before it.
        """
        return json_answer(await answer_context(await self._open(run), at, form, exact))

    async def messages(
        self, run: p.RunId, at: p.At = None, limit: p.Limit = 100, cursor: p.Cursor = None, hydrate: p.Hydrate = True
    ) -> Response:
        """The whole conversation up to a moment, in order: each message once, when it entered the run.

        Each says whether it still was in its agent's context at that moment, and what had taken it out.
        """
        return json_answer(await list_history(await self._open(run), limit, read_seq(cursor), hydrate, at))

    async def llm_calls(
        self, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None, hydrate: p.Hydrate = False
    ) -> Response:
        """Model calls in the order in which they began.  A thread's value is its last node: see the call's context."""
        return json_answer(await list_llm_calls(await self._open(run), limit, read_seq(cursor), hydrate))

    async def tool_calls(
        self, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None, hydrate: p.Hydrate = False
    ) -> Response:
        """Tool calls in the order in which they began."""
        return json_answer(await list_tool_calls(await self._open(run), limit, read_seq(cursor), hydrate))

    async def spans(self, run: p.RunId, limit: p.Limit = 500, cursor: p.Cursor = None) -> Response:
        """The tree of spans, attributes as stored: each span after its parent, `depth` levels below a root."""
        return json_answer(await list_spans(await self._open(run), limit, read_seq(cursor)))

    async def logs(self, run: p.RunId, limit: p.Limit = 500, cursor: p.Cursor = None) -> Response:
        """Log events as stored, by time: state, checkpoints, annotations, and what else the program has said."""
        return json_answer(await list_logs(await self._open(run), limit, read_seq(cursor)))


def add_routes(api: APIRouter, store: Store, runner: RunProjector, project: int, prices: Prices) -> None:
    """Registers the operations of this file."""
    routes = RunRoutes(store, runner, project, prices)
    get(api, "runs", "/runs", routes.runs, a.Page[a.RunSummary])
    get(api, "runs", "/runs/{run}", routes.run, a.RunDetail)
    get(api, "runs", "/runs/{run}/events", routes.events, a.Page[a.RecordedEvent])
    get(api, "moments", "/runs/{run}/state", routes.state, a.StateAt)
    get(api, "moments", "/runs/{run}/context", routes.context, a.ContextAt)
    get(api, "calls", "/runs/{run}/messages", routes.messages, a.Page[a.HistoryEntry])
    get(api, "calls", "/runs/{run}/llm-calls", routes.llm_calls, a.Page[a.LlmCall])
    get(api, "calls", "/runs/{run}/tool-calls", routes.tool_calls, a.Page[a.ToolCall])
    get(api, "calls", "/runs/{run}/spans", routes.spans, a.Page[a.TraceSpan])
    get(api, "calls", "/runs/{run}/logs", routes.logs, a.Page[RunLog])
