"""Recorded calls around other calls, which are executed again because other calls run inside them.

`CallNesting` knows which recorded calls were made inside which. `EnclosingCalls` finds the recorded call for a running
call around others.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from playhead.calls.span import ObservedSpan
from playhead.kernel.forks import ForkSafeLock
from playhead.model import names
from playhead.model.span import Span
from playhead.replaying.recorded_calls import Outcome, RecordedCall, RequestRefs, call_path_of, request_refs_of

# --- which calls are inside which -------------------------------------------------------------------------------------


FOREVER = 2**62


class CallNesting:
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

    def completed_parent(self, span: ObservedSpan) -> RecordedCall | None:
        """An enclosing call that completed in the record without this new call inside; None if there is none.

        If there is one, the program has changed: a call that had ended now makes another call.
        """
        above = span.enclosing
        while above is not None:
            call = above.recorded
            flow = above.flow.name if above.flow is not None else None
            # In another flow, this call may have been matched with an equal one that had not ended.
            if (
                call is not None
                and call.flow == flow
                and call.outcome is Outcome.COMPLETED
                and self._ended_before_fork(call)
            ):
                # A generator that was left early, which may be read further this time.
                is_left = call.span.attributes.get(names.OUTCOME) not in (None, names.TRIPPED)
                return None if is_left or self._outlived(call) else call
            above = above.enclosing
        return None

    def _ended_before_fork(self, call: RecordedCall) -> bool:
        """Whether the call ended before the fork point. Calls that were still open there are continued by the fork."""
        return call.ended is not None and call.ended[0] < self._upto

    def _outlived(self, around: RecordedCall) -> bool:
        """Whether a call inside ended after this call: tasks that nobody waits for may then still make calls."""
        end = FOREVER if around.ended is None else around.ended[0]
        return any(call.order > end or call.ended is None or call.ended[0] > end for call in self.inside(around))


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


def span_in_fork(span: Span, first: int) -> Span:
    """Returns a span of the parent as the fork has it. `first`: order number of the fork's first own call. A call that
    was open there continues in the fork, so its end in the parent does not count."""
    if int(span.attributes.get(names.CALL_ENDED_AFTER, 0)) < first:
        return span
    return replace(span, attributes={**span.attributes, names.CALL_ENDED_AFTER: FOREVER})


# --- matching ---------------------------------------------------------------------------------------------------------


PathsOf = Callable[[str], list[str]]


class EnclosingCalls:
    """Finds the recorded call for a running enclosing call, each recorded call once. Safe for threads.

    A call with the same arguments matches, in whatever order branches come. Arguments may differ in each process (the
    address of an object), so in the flow that made the recorded call its path is enough: calls of a flow follow each
    other. The root of a run matches its recorded root, whatever its name is now.
    """

    def __init__(self, calls: list[RecordedCall], paths_of: PathsOf, *, same_run: bool):
        """`paths_of`: returns the call paths at which the record may have a call."""
        self._mutex = ForkSafeLock()
        self._paths_of = paths_of
        self._root: RecordedCall | None = None
        self._waiting: dict[tuple[object, ...], deque[RecordedCall]] = {}
        self._taken: set[str] = set()
        self._call_paths: set[str] = set()
        for call in calls:
            if call.can_answer:
                continue
            # Calls without an agent are several roots, each of which is matched as a call of its own.
            if same_run and names.RUN_ROOT in call.span.attributes and call.kind not in names.CALL_KINDS:
                self._root = call  # the last one: a fork's own root comes after its parent's
                continue
            self._call_paths.add(call.call_path)
            for key in _lookup_keys(call.call_path, call.request_refs, call.flow):
                self._waiting.setdefault(key, deque()).append(call)
        self._times = {key: len(calls) for key, calls in self._waiting.items()}

    def match(self, span: ObservedSpan) -> RecordedCall | None:
        """Returns the matching recorded call that is not matched yet, or None."""
        with self._mutex:
            is_root = names.RUN_ROOT in span.attributes and span.kind not in names.CALL_KINDS
            if is_root and self._root is not None:
                root, self._root = self._root, None
                return root
            call_paths, request_refs = self._paths_of(call_path_of(span.attributes)), request_refs_of(span.attributes)
            flow = span.flow.name if span.flow is not None else None
            keys = [_lookup_keys(call_path, request_refs, flow) for call_path in call_paths]
            for key in chain.from_iterable(zip(*keys, strict=True)):
                call = self._next(self._waiting.get(key))
                if call is not None:
                    return call
        return None

    def forget(self, calls: Iterable[RecordedCall]) -> None:
        """Excludes these calls from matching."""
        with self._mutex:
            self._taken.update(call.span.span_id for call in calls)

    def knows(self, call_path: str) -> bool:
        """Whether the record has enclosing calls of this kind at this path, matched or not."""
        return not self._call_paths.isdisjoint(self._paths_of(call_path))

    def is_unlike_others(self, call: RecordedCall) -> bool:
        """Whether no other recorded call at its path has the same arguments."""
        return self._times.get((call.call_path, call.request_refs)) == 1

    def _next(self, waiting: "deque[RecordedCall] | None") -> RecordedCall | None:
        while waiting:
            call = waiting.popleft()
            if call.span.span_id not in self._taken:
                self._taken.add(call.span.span_id)
                return call
        return None


def _lookup_keys(call_path: str, request_refs: RequestRefs, flow: str | None) -> tuple[tuple[object, ...], ...]:
    """Keys by which a call is looked up, best first."""
    return (call_path, request_refs, flow), (call_path, request_refs), (call_path, flow, "any question")
