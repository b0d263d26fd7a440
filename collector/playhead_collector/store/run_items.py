"""Assigns spans and log events to runs.  Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from playhead.model import names
from playhead.model.ids import WHOLE_ID
from playhead.model.span import LogEvent, Span

NO_ID = "0" * 32


@dataclass(slots=True)
class RunItems:
    """The spans and log events of one run as they arrived. A span may occur several times, for example as an
    announcement and as an ended span."""

    spans: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])


def items_by_run(spans: Iterable[Span], logs: Iterable[LogEvent]) -> dict[str, RunItems]:
    """Groups spans and log events by run. Announcements become spans without an end. Items without a usable run id or
    trace id are left out."""
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
    """Returns the run of a span or log event: its run id, or its trace id if the run id is unusable. None if neither is
    usable."""
    for name in (item.attributes.get(names.RUN_ID), item.trace_id):
        if isinstance(name, str) and WHOLE_ID.fullmatch(name) and name != NO_ID:
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
