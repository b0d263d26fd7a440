"""journal → [recorded_events] → listeners: the events of one record, as `playhead.on_event` gives them.

The events are those of a single record: a span's announcement, an ended span, or a log event.  Values that need other
records are left out: messages added to a context, inferred compressions, and the enclosing call (`parent`).  `seq` has
no meaning here.
"""

from collections.abc import Sequence
from typing import Any

from playhead.calls.lifecycle import is_announced_by_attributes
from playhead.journal.frame import LOG as LOG_FRAME
from playhead.journal.frame import SPAN, read_log, read_span
from playhead.model import names
from playhead.model.event import EVENT_KINDS, RunEvent, event_to_json
from playhead.model.span import LogEvent, Span
from playhead.projection.call_events import EventWriter
from playhead.projection.known_messages import KnownMessages
from playhead.projection.order import END, LOG, START, TimelineEntry
from playhead.projection.span_tree import SpanTree

__all__ = ["EVENT_KINDS", "events_of", "events_of_log", "events_of_span"]


def events_of_span(span: Span, *, was_announced: bool = True) -> Sequence[RunEvent]:
    """The events of a call's start while `span` has not ended, else of its end. With `was_announced=False`, an ended
    span gives both."""
    tree = SpanTree([span])
    writer = EventWriter(str(span.attributes.get(names.RUN_ID, "")), tree, {}, KnownMessages({}, {}))
    for node in tree.nodes:
        if span.end_ns is None or not was_announced:
            writer.write(TimelineEntry(START, span.start_ns, node))
        if span.end_ns is not None:
            writer.write(TimelineEntry(END, span.end_ns, node))
    return writer.pop_events()


def events_of_log(log: LogEvent) -> Sequence[RunEvent]:
    """The event of a log event."""
    writer = EventWriter(str(log.attributes.get(names.RUN_ID, "")), SpanTree([]), {}, KnownMessages({}, {}), [log])
    writer.write(TimelineEntry(LOG, log.time_ns, None, log))
    return writer.pop_events()


def events_of(kind: bytes, payload: bytes) -> list[dict[str, Any]]:
    """The events of a frame's kind and payload, as the API gives them, without `seq`."""
    return [_json_without_seq(event) for event in _events_of(kind, payload)]


def _events_of(kind: bytes, payload: bytes) -> Sequence[RunEvent]:
    if kind == LOG_FRAME:
        return events_of_log(read_log(payload))
    span = read_span(payload)
    return events_of_span(span, was_announced=kind != SPAN or is_announced_by_attributes(span.attributes))


def _json_without_seq(event: RunEvent) -> dict[str, Any]:
    fields = event_to_json(event)
    return {name: value for name, value in fields.items() if name != "seq"}
