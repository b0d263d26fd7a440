"""Which recorded call a running one is, and whether the record still speaks for it."""

from collections.abc import Iterable

from playhead.api.calls.flow import Flow
from playhead.api.calls.span import ObservedSpan
from playhead.api.forks import fork_safe_lock
from playhead.model import names
from playhead.model.span import LogEvent
from playhead.replay.matching.recorded_calls import Question, RecordedCall, place_of, question_of


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


class CallKeys:
    """Keys for calls that a record does not have.  Safe for threads."""

    def __init__(self, recorded: Iterable[str]):
        """`recorded`: the keys of the record's calls, `path:kind#number`."""
        self._mutex = fork_safe_lock()
        self._numbers: dict[str, int] = {}
        for key in recorded:
            place, _, number = key.rpartition("#")
            self._numbers[place] = max(self._numbers.get(place, 0), int(number) if number.isdecimal() else 0)

    def new(self, place: str) -> str:
        """A key that no call of the record has: others may have come in another order this time."""
        with self._mutex:
            number = self._numbers[place] = self._numbers.get(place, 0) + 1
        return f"{place}#{number}"


def asked(span: ObservedSpan) -> tuple[str, Question, Flow | None]:
    """Where the call stands, what it asks, and in which flow: what it is looked up by."""
    return place_of(span.attributes), question_of(span.attributes), span.flow


def is_shared(entry: LogEvent, upto: int) -> bool:
    """Whether a fork that parts at this order shares the log event with its parent."""
    return 0 < int(entry.attributes.get(names.CALL_ORDER, 0)) < upto
