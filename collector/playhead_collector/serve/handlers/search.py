"""Routes that search the decisions and the texts of all runs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from fastapi import Query, Response

from playhead.wire.operations.search import DecisionsFound, TextsFound
from playhead_collector.analysis.search.contents import find_content, find_texts
from playhead_collector.analysis.search.decisions import find_decisions
from playhead_collector.analysis.search.indexing import SearchSettings
from playhead_collector.analysis.search.terms import DecisionConditions
from playhead_collector.errors import Refused
from playhead_collector.handlers.conditions import read_time
from playhead_collector.read.content import parse_ref
from playhead_collector.serve import routing
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, conflict, get
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.search import RunBounds, SearchIndex, WordQuery

Kind = Literal["tool_call", "tool_request", "answer", "handoff", "branch", "approval", "stop"]
Attribution = Literal[
    "user_request", "follow_up", "error_recovery", "plan_step", "agent_message", "agent_initiative", "unknown"
]
Source = Literal["user", "tool_result", "assistant", "system", "definition", "derived", "invented"]
Result = Literal["ok", "error", "empty", "cancelled", "open", "unknown"]
After = Literal["first", "ok", "error", "empty", "cancelled", "unknown"]
Role = Literal["system", "user", "assistant", "tool", "developer"]
Arguments = Annotated[
    list[str] | None, Query(max_length=20, description="`name=value`: an argument that the call has; may be repeated.")
]
Value = Annotated[str | None, Query(max_length=10_000, pattern=routing.NO_NUL, description="Value of any argument.")]
Words = Annotated[
    str | None, Query(max_length=1_000, pattern=routing.NO_NUL, description='Words, `"phrases"`, `or`, `-not`.')
]
AnyRef = Annotated[str | None, Query(max_length=200, description="A content: who else saw it?")]
_LONGEST_ARGUMENT = 10_000


class SearchRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: ReadStore, index: SearchIndex, project_id: int, settings: SearchSettings | None) -> None:
        self._store, self._index = store, index
        self._project_id, self._settings = project_id, settings

    def _on(self) -> SearchSettings:
        if self._settings is None:
            raise Refused(409, "search_off", "search is off: set PLAYHEAD_SEARCH=on, and start the collector again")
        return self._settings

    async def search_decisions(
        self,
        kind: Kind | None = None,
        tool: routing.Word = None,
        argument: Arguments = None,
        value: Value = None,
        attribution: Attribution | None = None,
        source: Source | None = None,
        suspect: bool | None = None,
        result: Result | None = None,
        after: After | None = None,
        agent: routing.Word = None,
        status: routing.Status | None = None,
        since: routing.Time = None,
        until: routing.Time = None,
        limit: routing.Limit = 50,
        cursor: routing.Cursor = None,
    ) -> Response:
        """Decisions of all sealed runs that meet all conditions: newest runs first, in each run the last decision
        first.

        Names and values have to be equal to those asked for. `argument` is by path (`flights[0].date`), by path without
        indices (`flights.date`) or by its last part (`date`). `source` and `suspect` are about the values that
        `argument` and `value` name, or about any value. `status` is that of the run; `since` and `until` limit the time
        when the run began.
        """
        settings = self._on()
        conditions = DecisionConditions(
            kind=kind, tool=tool, arguments=_arguments(argument), value=value, attribution=attribution,
            source=source, suspect=suspect, result=result, after=after, agent=agent, status=status,
        )  # fmt: skip
        where = RunBounds(read_time(since), read_time(until))
        async with _within(settings.seconds):
            return json_answer(await find_decisions(self._index, self._project_id, conditions, where, limit, cursor))

    async def search_content(
        self,
        q: Words = None,
        ref: AnyRef = None,
        role: Role | None = None,
        since: routing.Time = None,
        until: routing.Time = None,
        limit: routing.Limit = 20,
        cursor: routing.Cursor = None,
    ) -> Response:
        """Contents of all sealed runs in whose text the words of `q` stand, those first that came up last, with quotes
        and the runs that saw them. Or, with `ref`: that content, and the runs that saw it.

        Messages, system instructions, arguments, results, reasoning, outputs and states are searched. `role` is that of
        messages. `since` and `until` limit the time when the first run began that had the content.
        """
        settings = self._on()
        if (q is None) == (ref is None):
            raise Refused(400, "bad_parameter", "name either words (`q`) or a content (`ref`)")
        where = RunBounds(read_time(since), read_time(until))
        async with _within(settings.seconds):
            if ref is not None:
                return json_answer(await find_content(self._index, self._project_id, parse_ref(ref).plain, limit))
            query, most = WordQuery(q or "", settings.language, role), settings.characters
            return json_answer(
                await find_texts(self._store, self._index, self._project_id, query, where, limit, cursor, most)
            )


@asynccontextmanager
async def _within(seconds: float) -> AsyncGenerator[None]:
    """Raises Refused (503) when the search takes longer than `seconds`; its statement is cancelled in Postgres, too."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Refused(
            503,
            "took_too_long",
            f"the search was given up after {seconds:g} s: add a condition (a rarer word, a tool, a later `since`), or "
            "raise PLAYHEAD_SEARCH_SECONDS",
        ) from error


def _arguments(texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not (name and sign) or "\x00" in text or len(text) > _LONGEST_ARGUMENT:
            raise Refused(400, "bad_parameter", f"`argument` is {text[:40]!r}: write name=value, as in order_id=W123")
        pairs.append((name, value))
    return tuple(pairs)


def add_routes(
    api: ApiRoutes, store: ReadStore, index: SearchIndex, project_id: int, settings: SearchSettings | None
) -> None:
    """Registers the operations of this file. Without settings, search is off."""
    routes = SearchRoutes(store, index, project_id, settings)
    off = conflict("Search is off.")
    get(api, "search", "/search/decisions", routes.search_decisions, DecisionsFound, also=off)
    get(api, "search", "/search/content", routes.search_content, TextsFound, also=off)
