"""Identity of running calls in terms of the record: keys, adopted ids, and whether an enclosing call has left the
record.
"""

from collections.abc import Iterable

from playhead.calls.flow import ExecutionFlow
from playhead.calls.span import ObservedSpan
from playhead.kernel.forks import fork_safe_lock
from playhead.model import names
from playhead.model.span import LogEvent
from playhead.replay.matching.recorded_calls import RecordedCall, RequestRefs, call_path_of, request_refs_of


def adopt_identity(span: ObservedSpan, call: RecordedCall) -> None:
    """Gives the running call the ids, start and order of the recorded call, so that its end completes the recorded
    one."""
    span.trace_id = int(call.span.trace_id, 16)
    span.span_id = int(call.span.span_id, 16)
    span.parent_id = int(call.span.parent_id, 16) if call.span.parent_id else None
    span.start_ns = call.span.start_ns
    span.attributes[names.CALL_ORDER] = call.order
    span.attributes[names.CALL_KEY] = call.span.attributes[names.CALL_KEY]
    span.announced = True


def is_inside_live_call(span: ObservedSpan) -> bool:
    """Whether an enclosing call has diverged from the record, so that this call runs live."""
    above: ObservedSpan | None = span.enclosing
    while above is not None:
        if above.live:
            return True
        above = above.enclosing
    return False


class CallKeys:
    """Keys for calls that a record does not have.  Safe for threads."""

    def __init__(self, recorded: Iterable[str]):
        """`recorded`: the keys of the record's calls, `path:kind#number`."""
        self._mutex = fork_safe_lock()
        self._numbers: dict[str, int] = {}
        for key in recorded:
            call_path, _, number = key.rpartition("#")
            self._numbers[call_path] = max(self._numbers.get(call_path, 0), int(number) if number.isdecimal() else 0)

    def new(self, call_path: str) -> str:
        """Returns a key for this call path that no recorded call has."""
        with self._mutex:
            number = self._numbers[call_path] = self._numbers.get(call_path, 0) + 1
        return f"{call_path}#{number}"


def lookup_key(span: ObservedSpan) -> tuple[str, RequestRefs, ExecutionFlow | None]:
    """Returns what a call is looked up by: its call path, the refs of its request, and its flow."""
    return call_path_of(span.attributes), request_refs_of(span.attributes), span.flow


def is_shared_with_parent(entry: LogEvent, upto: int) -> bool:
    """Whether a fork that parts at order number `upto` shares the log event with its parent."""
    return 0 < int(entry.attributes.get(names.CALL_ORDER, 0)) < upto
