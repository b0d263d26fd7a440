"""The tree of a run's spans, and its log events, as they were stored; and both as OTLP."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import cast

from playhead.model import names
from playhead.model.span import Span, log_to_json, span_to_json
from playhead.wire.operations import Page, TraceSpan
from playhead.wire.operations.runs import OtlpRequest, RunLog
from playhead.wire.otlp_json import logs_json, traces_json
from playhead_collector.errors import Refused
from playhead_collector.read.paging import read_number
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import elapsed_ms


async def list_spans(record: RunRecord, limit: int, after: int) -> Page[TraceSpan]:
    """Returns a page of spans in tree order. The cursor is the number of spans already returned."""
    tree = in_tree_order(await record.store.spans.read(record.project_id, record.run))
    page = tree[after : after + limit]
    end = after + len(page)
    return {
        "items": [trace_span(span, depth) for span, depth in page],
        "next_cursor": str(end) if end < len(tree) else None,
    }


async def read_span(record: RunRecord, span_id: str) -> TraceSpan:
    """Returns a span. Raises Refused (404)."""
    tree = in_tree_order(await record.store.spans.read(record.project_id, record.run))
    found = next((entry for entry in tree if entry[0].span_id == span_id), None)
    if found is None:
        raise Refused(404, "no_such_span", f"no span {span_id} of run {record.run} has arrived: ask for its spans")
    return trace_span(*found)


async def list_logs(record: RunRecord, limit: int, after: int) -> Page[RunLog]:
    """Returns a page of log events by time. The cursor is the number of events already returned."""
    logs = await record.store.spans.logs(record.project_id, record.run)
    page = logs[after : after + limit]
    end = after + len(page)
    items = [cast(RunLog, log_to_json(log)) for log in page]
    return {"items": items, "next_cursor": str(end) if end < len(logs) else None}


async def list_otlp(record: RunRecord, limit: int, cursor: str | None) -> Page[OtlpRequest]:
    """Returns the spans and log events of a run as OTLP requests, `limit` stored pages at a time."""
    pages = await record.store.spans.pages(record.project_id, record.run, after=read_number(cursor), limit=limit)
    items: list[OtlpRequest] = []
    for page in pages:
        if page.spans:
            items.append(traces_json(page.spans))
        if page.logs:
            items.append(logs_json(page.logs))
    return {"items": items, "next_cursor": str(pages[-1].number) if len(pages) == limit else None}


def in_tree_order(spans: Iterable[Span]) -> Sequence[tuple[Span, int]]:
    """Returns each span after its parent, with its depth; siblings are sorted by start time. If the parents of some
    spans form a cycle, the first of these spans counts as a root."""
    by_id = {span.span_id: span for span in spans}
    children: defaultdict[str | None, list[Span]] = defaultdict(list)
    for span in by_id.values():
        children[span.parent_id if span.parent_id in by_id else None].append(span)
    for siblings in children.values():
        siblings.sort(key=_sort_key, reverse=True)  # the stack reverses them
    ordered: dict[str, tuple[Span, int]] = {}
    _walk([(root, 0) for root in children[None]], children, ordered)
    for span in sorted(by_id.values(), key=_sort_key):
        if span.span_id not in ordered:  # a cycle: no root led here
            _walk([(span, 0)], children, ordered)
    return list(ordered.values())


def _walk(
    stack: list[tuple[Span, int]], children: defaultdict[str | None, list[Span]], ordered: dict[str, tuple[Span, int]]
) -> None:
    while stack:
        span, depth = stack.pop()
        if span.span_id in ordered:
            continue
        ordered[span.span_id] = (span, depth)
        stack.extend((child, depth + 1) for child in children[span.span_id])


def _sort_key(span: Span) -> tuple[int, int, str]:
    order = span.attributes.get(names.CALL_ORDER)
    return span.start_ns, order if isinstance(order, int) else 0, span.span_id


def trace_span(span: Span, depth: int) -> TraceSpan:
    """Converts a span to an answer."""
    in_tree = {
        "depth": depth,
        "kind": span.attributes.get(names.KIND),
        "elapsed_ms": elapsed_ms(span.start_ns, span.end_ns),
    }
    return cast(TraceSpan, {**span_to_json(span), **in_tree})
