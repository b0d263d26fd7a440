"""Handlers of a run's calls: their contexts, messages and spans."""

from typing import Literal

from playhead.wire.operations.calls import CallOperations, ContextAt, HistoryEntry, LlmCall, ToolCall, TraceSpan
from playhead.wire.operations.page import Page
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.calls import list_llm_calls, list_tool_calls
from playhead_collector.read.paging import read_seq
from playhead_collector.read.spans import list_spans, read_span


@handles(CallOperations.context, waits=True)
async def context(
    asking: Asking,
    run: str,
    *,
    at: int | str | None = None,
    form: Literal["parts", "openai"] = "parts",
    exact: bool = False,
    without: int | str | None = None,
) -> ContextAt:
    record, moment = await asking.record(run), None if at is None else str(at)
    if without is not None:
        if exact:
            raise Refused(422, "invalid", "query.exact: no request was sent without the compression: leave one out")
        from playhead_collector.analysis.compression.uncut import answer_uncut_context  # noqa: PLC0415 - as below

        return await answer_uncut_context(record, moment, str(without), form)
    from playhead_collector.read.context import answer_context  # noqa: PLC0415 - 30 ms that lists do not need

    return await answer_context(record, moment, form, exact)


@handles(CallOperations.messages, waits=True)
async def messages(
    asking: Asking, run: str, *, at: int | str | None = None, limit: int | None = None, hydrate: bool = True
) -> Page[HistoryEntry]:
    from playhead_collector.read.messages import list_history  # noqa: PLC0415 - 40 ms that other lists do not need

    record, moment = await asking.record(run), None if at is None else str(at)
    return await list_history(record, asking.page(limit), read_seq(asking.cursor), hydrate, moment)


@handles(CallOperations.llm_calls)
async def llm_calls(
    asking: Asking, run: str, *, task: str | None = None, limit: int | None = None, hydrate: bool = False
) -> Page[LlmCall]:
    record = await asking.record(run)
    return await list_llm_calls(record, asking.page(limit), read_seq(asking.cursor), hydrate, task=task)


@handles(CallOperations.tool_calls)
async def tool_calls(asking: Asking, run: str, *, limit: int | None = None, hydrate: bool = False) -> Page[ToolCall]:
    return await list_tool_calls(await asking.record(run), asking.page(limit), read_seq(asking.cursor), hydrate)


@handles(CallOperations.spans)
async def spans(asking: Asking, run: str, *, limit: int | None = None) -> Page[TraceSpan]:
    return await list_spans(await asking.record(run), asking.page(limit), read_seq(asking.cursor))


@handles(CallOperations.span)
async def span(asking: Asking, run: str, span: str) -> TraceSpan:
    return await read_span(await asking.record(run), span)
