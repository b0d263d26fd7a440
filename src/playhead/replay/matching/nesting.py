"""Which recorded calls were made inside which others, and what that means for a call that is not in
the record. Pure.
"""

from collections.abc import Sequence
from dataclasses import replace

from playhead.api.calls.span import ObservedSpan
from playhead.model import names
from playhead.model.span import Span
from playhead.replay.matching.recorded_calls import Outcome, RecordedCall

FOREVER = 2**62


class Nesting:
    """The calls of a record by the calls around them."""

    def __init__(self, calls: Sequence[RecordedCall], upto: int):
        """`upto`: the order of the call at which a fork parts; FOREVER for a run that is resumed."""
        self._inside = _by_enclosing(calls)
        self._upto = upto

    def inside(self, call: RecordedCall) -> Sequence[RecordedCall]:
        """The calls that were made inside this one, at any depth."""
        return self._inside.get(call.span.span_id, ())

    def outermost(self, answerable: Sequence[RecordedCall]) -> list[RecordedCall]:
        """Of calls that can be answered, those that are not inside another one of them whose answer is known."""
        covered = {inner.span.span_id for call in answerable if call.is_settled for inner in self.inside(call)}
        return [call for call in answerable if call.span.span_id not in covered]

    def completed_around(self, span: ObservedSpan) -> RecordedCall | None:
        """An enclosing call that completed in the record without this new call inside; None if there is none.

        If there is one, the program has changed: a call that had ended now makes another one.
        """
        above = span.enclosing
        while above is not None:
            call = above.recorded
            flow = above.flow.name if above.flow is not None else None
            # In another flow, an equal call that had not come to its end may have been taken for this one.
            if call is not None and call.flow == flow and call.outcome is Outcome.COMPLETED and self._had_ended(call):
                # A generator, which may be read further this time.
                is_left = call.span.attributes.get(names.OUTCOME) not in (None, names.TRIPPED)
                return None if is_left or self._outlived(call) else call
            above = above.enclosing
        return None

    def _had_ended(self, call: RecordedCall) -> bool:
        """Whether that is shared: what was under way where a fork parts, goes on there."""
        return call.ended is not None and call.ended[0] < self._upto

    def _outlived(self, around: RecordedCall) -> bool:
        """Whether a call inside went on after this call ended: then tasks that nobody waits for may
        still make calls.
        """
        end = FOREVER if around.ended is None else around.ended[0]
        return any(call.order > end or call.ended is None or call.ended[0] > end for call in self.inside(around))


def enclosing(inner: RecordedCall, calls: Sequence[RecordedCall]) -> list[str]:
    """The span ids of the calls around this one that could be answered as a whole, whatever came of what is inside."""
    by_id = {call.span.span_id: call for call in calls}
    found: list[str] = []
    above = by_id.pop(inner.span.parent_id or "", None)
    while above is not None:
        if above.can_answer:
            found.append(above.span.span_id)
        above = by_id.pop(above.span.parent_id or "", None)
    return found


def as_of_fork(span: Span, first: int) -> Span:
    """A parent's call as its fork has it, whose own calls begin with the number `first`: one that was under way there
    goes on in the fork, so its end in the parent says nothing about which calls come in it."""
    if int(span.attributes.get(names.CALL_ENDED_AFTER, 0)) < first:
        return span
    return replace(span, attributes={**span.attributes, names.CALL_ENDED_AFTER: FOREVER})


def _by_enclosing(calls: Sequence[RecordedCall]) -> dict[str, list[RecordedCall]]:
    """Each call's span id → the calls inside it, at any depth."""
    by_id = {call.span.span_id: call for call in calls}
    found: dict[str, list[RecordedCall]] = {}
    for call in calls:
        above = call.span.parent_id
        while above is not None and above in by_id:
            found.setdefault(above, []).append(call)
            above = by_id[above].span.parent_id
    return found
