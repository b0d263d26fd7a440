"""Matches enclosing calls (executed again because other calls run inside them) to recorded calls."""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain

from playhead.calls.span import ObservedSpan
from playhead.kernel.forks import fork_safe_lock
from playhead.model import names
from playhead.replay.matching.recorded_calls import RecordedCall, RequestRefs, call_path_of, request_refs_of

PathsOf = Callable[[str], list[str]]


class EnclosingCalls:
    """Finds each recorded call once. Safe for threads.

    A call with the same arguments matches, in whatever order branches come. Arguments may differ in each process (the
    address of an object), so in the flow that made the recorded call its path is enough: calls of a flow follow each
    other. The root of a run matches its recorded root, whatever its name is now.
    """

    def __init__(self, calls: list[RecordedCall], paths_of: PathsOf, *, same_run: bool):
        """`paths_of`: returns the call paths at which the record may have a call."""
        self._mutex = fork_safe_lock()
        self._places_of = paths_of
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
            for key in _keys(call.call_path, call.request_refs, call.flow):
                self._waiting.setdefault(key, deque()).append(call)
        self._times = {key: len(calls) for key, calls in self._waiting.items()}

    def match(self, span: ObservedSpan) -> RecordedCall | None:
        """Returns the matching recorded call that is not matched yet, or None."""
        with self._mutex:
            is_root = names.RUN_ROOT in span.attributes and span.kind not in names.CALL_KINDS
            if is_root and self._root is not None:
                root, self._root = self._root, None
                return root
            call_paths, request_refs = self._places_of(call_path_of(span.attributes)), request_refs_of(span.attributes)
            flow = span.flow.name if span.flow is not None else None
            keys = [_keys(call_path, request_refs, flow) for call_path in call_paths]
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
        return not self._call_paths.isdisjoint(self._places_of(call_path))

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


def _keys(call_path: str, request_refs: RequestRefs, flow: str | None) -> tuple[tuple[object, ...], ...]:
    """Keys by which a call is looked up, best first."""
    return (call_path, request_refs, flow), (call_path, request_refs), (call_path, flow, "any question")
