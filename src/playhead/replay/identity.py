"""Which recorded call a running one is, and whether the record still speaks for it."""

from playhead.api.span import ObservedSpan
from playhead.model import names
from playhead.replay.calls import RecordedCall


def adopt(span: ObservedSpan, call: RecordedCall) -> None:
    """The call goes on as the recorded one: its end ends that."""
    span.trace_id = int(call.span.trace_id, 16)
    span.span_id = int(call.span.span_id, 16)
    span.parent_id = int(call.span.parent_id, 16) if call.span.parent_id else None
    span.start_ns = call.span.start_ns
    span.attributes[names.CALL_ORDER] = call.order
    span.attributes[names.CALL_KEY] = call.span.attributes[names.CALL_KEY]
    span.announced = True


def is_live(span: ObservedSpan) -> bool:
    """Whether a call around it has parted from the record."""
    above: ObservedSpan | None = span.above
    while above is not None:
        if above.live:
            return True
        above = above.above
    return False
