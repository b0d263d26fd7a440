"""Handlers of runs, their events and log events."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, Unpack

from playhead.model.canonical import Content
from playhead.wire.operations.bounds import RunConditions
from playhead.wire.operations.page import Page
from playhead.wire.operations.runs import (
    RecordedEvent,
    RunDetail,
    RunLog,
    RunOperations,
    RunsOverview,
    RunSummary,
    SortName,
)
from playhead.wire.operations.verdict import OutcomeWord
from playhead.wire.operations.why import Strength
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.conditions import read_kinds, read_time, run_filter
from playhead_collector.handlers.handling import handles
from playhead_collector.handlers.replies import BytesReply, LiveStream
from playhead_collector.read.events import EventFilter, list_events, list_last_events
from playhead_collector.read.outcomes import runs_overview
from playhead_collector.read.paging import read_seq
from playhead_collector.read.retention import is_thinned, why_thinned, with_next
from playhead_collector.read.runs import list_runs, run_detail
from playhead_collector.read.scores import read_condition
from playhead_collector.store.ports.runs import RunFilter, RunOrder

_EVENTS_PAGE = 100


@handles(RunOperations.runs)
async def runs(
    asking: Asking,
    *,
    errors: bool | None = None,
    fork_of: str | None = None,
    trace: str | None = None,
    linked: str | None = None,
    id: str | None = None,  # noqa: A002 - its name in the API
    score: str | None = None,
    outcomes: Sequence[OutcomeWord] = (),
    suspect: Strength | None = None,
    cost_above: float | None = None,
    sort: SortName = "started",
    ascending: bool = False,
    limit: int | None = None,
    **where: Unpack[RunConditions],
) -> Page[RunSummary]:
    filter_ = _with_outcome(run_filter(**where), errors, score, outcomes, suspect, cost_above)
    filter_ = replace(filter_, fork_of=fork_of, trace=trace, linked=linked, id_part=id)
    order = RunOrder(sort, ascending)
    await asking.catch_up()
    size = asking.page(limit)
    return await list_runs(asking.store, asking.project_id, filter_, size, asking.cursor, asking.prices, order)


def _with_outcome(
    where: RunFilter,
    errors: bool | None,
    score: str | None,
    outcomes: Sequence[OutcomeWord],
    suspect: Strength | None,
    cost_above: float | None,
) -> RunFilter:
    """Adds the conditions for what came of runs. Raises Refused."""
    condition = read_condition(score)
    filter_ = replace(where, with_error=errors, score=condition, suspect=suspect, cost_above=cost_above)
    return replace(filter_, outcomes=tuple(dict.fromkeys(outcomes)))


@handles(RunOperations.runs_overview)
async def overview(
    asking: Asking,
    *,
    errors: bool | None = None,
    score: str | None = None,
    outcomes: Sequence[OutcomeWord] = (),
    suspect: Strength | None = None,
    cost_above: float | None = None,
    steps: int = 60,
    **where: Unpack[RunConditions],
) -> RunsOverview:
    filter_ = _with_outcome(run_filter(**where), errors, score, outcomes, suspect, cost_above)
    await asking.catch_up()
    return await runs_overview(asking.store, asking.project_id, filter_, steps)


@handles(RunOperations.run)
async def run(asking: Asking, run: str) -> RunDetail:
    detail = await run_detail(await asking.record(run), asking.prices)
    if (retainer := asking.services.retainer) is not None:
        standing = await retainer.standing(asking.project_id, detail["run"])
        detail["retention"] = with_next(detail["retention"], detail["run"], standing.step, standing.pin)
    return detail


@handles(RunOperations.events)
async def events(
    asking: Asking,
    run: str,
    *,
    after: int = 0,
    kinds: Sequence[str] = (),
    priority: Literal["critical", "normal"] | None = None,
    since: str | datetime | None = None,
    preview: int = 0,
    limit: int | None = None,
    last: int | None = None,
) -> Page[RecordedEvent]:
    where = EventFilter(read_kinds(kinds), priority, read_time(since))
    _check_last(last, after, asking.cursor)
    record = await asking.record(run)
    if last is not None:
        return await list_last_events(record, where, min(last, limit or last), preview)
    start = read_seq(asking.cursor) if asking.cursor else after
    return await list_events(record, where, asking.page(limit, _EVENTS_PAGE), start, preview)


def _check_last(last: int | None, after: int, cursor: str | None) -> None:
    if last is not None and (cursor is not None or after):
        raise Refused(400, "bad_parameter", "`last` counts from the end: leave out `after` and `cursor`")


@handles(RunOperations.live_events, waits=True)
async def live_events(
    asking: Asking,
    run: str,
    *,
    after: int = 0,
    kinds: Sequence[str] = (),
    priority: Literal["critical", "normal"] | None = None,
    since: str | datetime | None = None,
    preview: int = 0,
    limit: int | None = None,
    last: int | None = None,
) -> LiveStream | None:
    from playhead_collector.handlers.streams import open_stream, stream_view  # noqa: PLC0415 - only collectors have it

    view = stream_view(read_kinds(kinds), priority, read_time(since), preview)
    _check_last(last, after, None)
    record = await asking.record(run)
    start = after if last is None else max(0, record.last - last)
    return await open_stream(asking, record.run, view, limit, after=start)


@handles(RunOperations.events_of_all_runs, waits=True)
async def events_of_all_runs(
    asking: Asking,
    *,
    kinds: Sequence[str] = (),
    priority: Literal["critical", "normal"] | None = None,
    since: str | datetime | None = None,
    preview: int = 0,
    limit: int | None = None,
) -> LiveStream | None:
    from playhead_collector.handlers.streams import open_stream, stream_view  # noqa: PLC0415 - only collectors have it

    view = stream_view(read_kinds(kinds), priority, None, preview)
    return await open_stream(asking, None, view, limit, since_ns=read_time(since))


@handles(RunOperations.logs)
async def logs(asking: Asking, run: str, *, limit: int | None = None) -> Page[RunLog]:
    from playhead_collector.read.spans import list_logs  # noqa: PLC0415 - few ask for it

    return await list_logs(await asking.record(run), asking.page(limit), read_seq(asking.cursor))


@handles(RunOperations.test_of, waits=True)
async def test_of(asking: Asking, run: str) -> BytesReply:
    from playhead_collector.read.pytest_file import read_test_file  # noqa: PLC0415 - few ask for it

    record = await asking.record(run)
    if is_thinned(record.row):
        raise Refused(404, "content_missing", f"{why_thinned(record.row)}, and cannot become a test")
    async with asking.services.packing():
        return BytesReply(Content((await read_test_file(record)).encode(), "text/x-python; charset=utf-8"))
