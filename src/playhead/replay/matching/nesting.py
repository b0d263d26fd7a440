"""Finds the recorded calls inside and around other calls, and new calls inside calls that had completed. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from playhead.calls.span import ObservedSpan
from playhead.model import names
from playhead.model.span import Span
from playhead.replay.matching.recorded_calls import Outcome, RecordedCall

FOREVER = 2**62


class Nesting:
    """The calls of a record, grouped by the calls around them."""

    def __init__(self, calls: Sequence[RecordedCall], upto: int):
        """`upto`: order number of the call at which a fork parts; FOREVER for a run that is resumed."""
        self._inside = _by_enclosing(calls)
        self._upto = upto

    def inside(self, call: RecordedCall) -> Sequence[RecordedCall]:
        """Calls that were made inside this one, at any depth."""
        return self._inside.get(call.span.span_id, ())

    def outermost(self, answerable: Sequence[RecordedCall]) -> list[RecordedCall]:
        """The calls among `answerable` that are not inside another one of them whose outcome is known."""
        covered = {inner.span.span_id for call in answerable if call.is_settled for inner in self.inside(call)}
        return [call for call in answerable if call.span.span_id not in covered]

    def completed_around(self, span: ObservedSpan) -> RecordedCall | None:
        """An enclosing call that completed in the record without this new call inside; None if there is none.

        If there is one, the program has changed: a call that had ended now makes another call.
        """
        above = span.enclosing
        while above is not None:
            call = above.recorded
            flow = above.flow.name if above.flow is not None else None
            # In another flow, this call may have been matched with an equal one that had not ended.
            if call is not None and call.flow == flow and call.outcome is Outcome.COMPLETED and self._had_ended(call):
                # A generator that was left early, which may be read further this time.
                is_left = call.span.attributes.get(names.OUTCOME) not in (None, names.TRIPPED)
                return None if is_left or self._outlived(call) else call
            above = above.enclosing
        return None

    def _had_ended(self, call: RecordedCall) -> bool:
        """Whether the call ended before the fork point. Calls that were still open there are continued by the fork."""
        return call.ended is not None and call.ended[0] < self._upto

    def _outlived(self, around: RecordedCall) -> bool:
        """Whether a call inside ended after this call: tasks that nobody waits for may then still make calls."""
        end = FOREVER if around.ended is None else around.ended[0]
        return any(call.order > end or call.ended is None or call.ended[0] > end for call in self.inside(around))


def enclosing(inner: RecordedCall, calls: Sequence[RecordedCall]) -> list[str]:
    """Span ids of the calls around this one that can be answered as a whole, whatever the outcome of the calls
    inside."""
    by_id = {call.span.span_id: call for call in calls}
    span_ids: list[str] = []
    above = by_id.pop(inner.span.parent_id or "", None)
    while above is not None:
        if above.can_answer:
            span_ids.append(above.span.span_id)
        above = by_id.pop(above.span.parent_id or "", None)
    return span_ids


def as_of_fork(span: Span, first: int) -> Span:
    """Returns a span of the parent as the fork has it. `first`: order number of the fork's first own call. A call that
    was open there continues in the fork, so its end in the parent does not count."""
    if int(span.attributes.get(names.CALL_ENDED_AFTER, 0)) < first:
        return span
    return replace(span, attributes={**span.attributes, names.CALL_ENDED_AFTER: FOREVER})


def _by_enclosing(calls: Sequence[RecordedCall]) -> dict[str, list[RecordedCall]]:
    """Span id of each call → the calls inside it, at any depth."""
    by_id = {call.span.span_id: call for call in calls}
    inside: dict[str, list[RecordedCall]] = {}
    for call in calls:
        above = call.span.parent_id
        while above is not None and above in by_id:
            inside.setdefault(above, []).append(call)
            above = by_id[above].span.parent_id
    return inside
