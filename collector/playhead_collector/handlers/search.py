"""Handlers of the search of decisions and texts in all runs."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Literal, cast

from playhead.wire.operations.bounds import Status
from playhead.wire.operations.search import DecisionsFound, SearchOperations, TextsFound
from playhead_collector.analysis.search.contents import find_content, find_texts
from playhead_collector.analysis.search.decisions import find_decisions
from playhead_collector.analysis.search.indexing import index_runs
from playhead_collector.analysis.search.terms import DecisionConditions
from playhead_collector.errors import CollectorError, Refused
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.conditions import read_time
from playhead_collector.handlers.handling import handles
from playhead_collector.read.content import parse_ref
from playhead_collector.read.record import stored_record
from playhead_collector.store.ports.search import RunBounds, SearchIndex
from playhead_collector.store.records.store import RecordStore

_LONGEST_ARGUMENT, _ALL_RUNS = 10_000, 1_000_000


@handles(SearchOperations.search_decisions, waits=True)
async def search_decisions(
    asking: Asking,
    *,
    kind: Literal["tool_call", "tool_request", "answer", "handoff", "branch", "approval", "stop"] | None = None,
    tool: str | None = None,
    arguments: Mapping[str, str] | None = None,
    value: str | None = None,
    attribution: Literal[
        "user_request", "follow_up", "error_recovery", "plan_step", "agent_message", "agent_initiative", "unknown"
    ]
    | None = None,
    source: Literal[
        "user", "tool_result", "assistant", "system", "definition", "derived", "program", "not_found", "invented"
    ]
    | None = None,
    suspect: bool | None = None,
    result: Literal["ok", "error", "empty", "cancelled", "open", "unknown"] | None = None,
    after: Literal["first", "ok", "error", "empty", "cancelled", "unknown"] | None = None,
    agent: str | None = None,
    status: Status | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    limit: int | None = None,
) -> DecisionsFound:
    conditions = DecisionConditions(
        kind=kind, tool=tool, arguments=_arguments(cast("Sequence[str] | None", arguments)), value=value,
        attribution=attribution, source=source, suspect=suspect, result=result, after=after, agent=agent,
        status=status,
    )  # fmt: skip
    where = RunBounds(read_time(since), read_time(until))
    size = asking.page(limit)
    index = await _index(asking)
    async with _within(asking.search.seconds):
        return await find_decisions(index, asking.project_id, conditions, where, size, asking.cursor)


@handles(SearchOperations.search_content, waits=True)
async def search_content(
    asking: Asking,
    words: str | None = None,
    *,
    ref: str | None = None,
    role: Literal["system", "user", "assistant", "tool", "developer"] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    limit: int | None = None,
) -> TextsFound:
    if (words is None) == (ref is None):
        raise Refused(400, "bad_parameter", "name either words (`q`) or a content (`ref`)")
    where, size = RunBounds(read_time(since), read_time(until)), asking.page(limit)
    settings, index = asking.search, await _index(asking)
    async with _within(settings.seconds):
        if ref is not None:
            return await find_content(index, asking.project_id, parse_ref(ref).plain, size)
        return await find_texts(
            asking.store, index, asking.project_id, words or "", role, where, size, asking.cursor, settings
        )


async def _index(asking: Asking) -> SearchIndex:
    """Returns the search index. A collector fills it in the background; over the journal, it is filled here. Raises
    Refused (409) if the project has none."""
    index = asking.store.search
    if await index.is_off(asking.project_id):
        message = (
            "the search of texts and decisions is off in this project, because it is encrypted: an index would tell "
            "what they say; list runs by agent, model, tool, tag, session, user, outcome or time instead"
        )
        raise Refused(409, "search_off", message)
    if isinstance(asking.store, RecordStore):
        for project_id, run in await index.unindexed_runs(_ALL_RUNS):
            await index.leave_unindexed(project_id, run)
            with suppress(CollectorError):  # a run that cannot be read does not keep the others from being searched
                record = await stored_record(asking.store, asking.project_id, run)
                await index_runs(
                    record, index=index, attribute=True, language=asking.search.language,
                    characters=asking.search.characters,
                )  # fmt: skip
    return index


@asynccontextmanager
async def _within(seconds: float | None) -> AsyncGenerator[None]:
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


def _arguments(texts: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not (name and sign) or "\x00" in text or len(text) > _LONGEST_ARGUMENT:
            raise Refused(400, "bad_parameter", f"`argument` is {text[:40]!r}: write name=value, as in order_id=W123")
        pairs.append((name, value))
    return tuple(pairs)
