"""journal → [project]: the events of a single record, for callbacks in the program that recorded it.

A record is a span's announcement, an ended span, or a log event.  Values that need other records are left out: messages
added to a context, inferred compressions, and the enclosing call (`parent`).  `seq` has no meaning here.
"""

from collections.abc import Sequence

from playhead.model import names
from playhead.model.event import RunEvent
from playhead.model.span import LogEvent, Span
from playhead.projection.call_events import EventWriter
from playhead.projection.known_messages import KnownMessages
from playhead.projection.order import END, LOG, START, Moment
from playhead.projection.span_tree import SpanTree


def events_of_span(span: Span, *, was_announced: bool = True) -> Sequence[RunEvent]:
    """The events of a call's start while `span` has not ended, else of its end. With `was_announced=False`, an ended
    span gives both."""
    tree = SpanTree([span])
    writer = EventWriter(str(span.attributes.get(names.RUN_ID, "")), tree, {}, KnownMessages({}, {}))
    for node in tree.nodes:
        if span.end_ns is None or not was_announced:
            writer.write(Moment(START, span.start_ns, node))
        if span.end_ns is not None:
            writer.write(Moment(END, span.end_ns, node))
    return writer.take()


def events_of_log(log: LogEvent) -> Sequence[RunEvent]:
    """The event of a log event."""
    writer = EventWriter(str(log.attributes.get(names.RUN_ID, "")), SpanTree([]), {}, KnownMessages({}, {}), [log])
    writer.write(Moment(LOG, log.time_ns, None, log))
    return writer.take()
