"""Which run a span or log event belongs to.  Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from playhead.model import names
from playhead.model.span import LogEvent, Span

_ID, NO_ID = re.compile("[0-9a-f]{32}"), "0" * 32


@dataclass(slots=True)
class RunItems:
    """The spans and log events of a run as they arrived: a span may be there several times, once as announced."""

    spans: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])


def items_by_run(spans: Iterable[Span], logs: Iterable[LogEvent]) -> dict[str, RunItems]:
    """Spans and log events by run.  Announcements become spans without an end; what names no run is left out."""
    by_run: dict[str, RunItems] = {}
    for span in spans:
        if (run := _run_of(span)) is not None:
            by_run.setdefault(run, RunItems()).spans.append(span)
    for log in logs:
        run = _run_of(log)
        if run is None:
            continue
        if log.name != names.STARTED:
            by_run.setdefault(run, RunItems()).logs.append(log)
        elif log.trace_id and log.span_id:
            by_run.setdefault(run, RunItems()).spans.append(_announced(log, log.trace_id, log.span_id))
    return by_run


def _run_of(item: Span | LogEvent) -> str | None:
    """The run of a span or log event. With an unusable run id, it is the trace's; None if there is no trace either."""
    for name in (item.attributes.get(names.RUN_ID), item.trace_id):
        if isinstance(name, str) and _ID.fullmatch(name) and name != NO_ID:
            return name
    return None


def _announced(log: LogEvent, trace: str, span: str) -> Span:
    attributes = dict(log.attributes)
    name = attributes.pop(names.SPAN_NAME, "")
    parent = attributes.pop(names.SPAN_PARENT, None)
    return Span(
        trace,
        span,
        parent if isinstance(parent, str) and parent else None,
        name if isinstance(name, str) else "",
        log.time_ns,
        None,
        attributes,
        scope=log.scope,
        resource=log.resource,
    )
