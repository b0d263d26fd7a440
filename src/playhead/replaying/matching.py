"""Finds the recorded call that matches a running call, or how the call differs from the record.

Pure, except that it notes which calls were matched.

A call is found by its path (names of the enclosing observed functions, kind, name) and its request (refs of everything
it was asked).  So parallel branches match in any order, and a changed argument never matches.

A call that is not found is new, or the program has changed.  In one flow of execution (`calls.flow`) calls follow each
other: if the record goes on in this flow with another call, the program has changed.  A flow that the record does not
know may be a branch that had not begun when the record ended, or one whose first call was changed.  The record alone
cannot tell; it depends on whether other branches make the calls that are left.  So such a verdict is uncertain, and has
a certainty; the caller lets the call wait for the other branches where it can.

- No call of the record is left: the call is new.
- Calls are left in its own flow: changed.  CERTAIN in the flow in which the run began.  Another flow is identified by
  the first of its calls that was found: LIKELY if only one branch of the record has that request, else POSSIBLE.
- Calls are left in flows that overlapped with its own in the record: their own branches will make them, so they say
  nothing about this call.
- Calls are left in the flow that it branched off from, which had gone on, or in flows that branched off from its own
  and had ended before it went on: LIKELY.
- Calls are left in other flows, which no branch has continued: POSSIBLE.

Overlap is computed from the whole record, never from the calls that are left: else the order of arrival would decide.
"""

import threading
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from playhead.calls.flow import ExecutionFlow
from playhead.calls.recorded_answer import BranchTimeout
from playhead.calls.span import ObservedSpan
from playhead.kernel.forks import ForkSafeLock, renew_in_child
from playhead.model import names
from playhead.model.span import LogEvent
from playhead.replaying.record import FOREVER
from playhead.replaying.recorded_calls import RecordedCall, RequestRefs, call_path_of, request_refs_of

DivergenceKind = Literal["changed", "inserted", "renamed", "kind_changed"]
_POLL_SECONDS = 0.02


class DivergenceCertainty(IntEnum):
    """How certain it is that the program has changed, while other branches may still make calls."""

    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3


@dataclass(frozen=True, slots=True)
class MatchedCall:
    """The recorded call that matches."""

    call: RecordedCall


@dataclass(frozen=True, slots=True)
class RecordExhausted:
    """The record ended before this call, so the call is new."""


@dataclass(frozen=True, slots=True)
class Diverged:
    """The record goes on otherwise. `changed`: `expected` is at this path, with another request. `renamed`: `expected`
    is the same call under another path. `kind_changed`: `expected` is the same function, whose calls were answered and
    are not any more. `inserted`: the record has no such call, and goes on with `expected`."""

    how: DivergenceKind
    expected: RecordedCall
    certainty: DivergenceCertainty = DivergenceCertainty.CERTAIN


Match = MatchedCall | RecordExhausted | Diverged


@dataclass(frozen=True, slots=True)
class Recognised:
    """A recorded call that a changed program very likely makes again. `how`: `same`: name and kind are equal; `kind`:
    it has another kind; `name`: it has another name at the same place."""

    call: RecordedCall
    how: Literal["same", "kind", "name"]


@dataclass(slots=True)
class _RecordedFlow:
    """One flow of the record. `first`, `last`: order numbers between which it was active."""

    parent: str
    first: int
    last: int
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])

    def overlaps(self, other: "_RecordedFlow") -> bool:
        """Whether one of its calls was open while the other flow was active."""
        return any(call.order <= other.last and _end_order(call) >= other.first for call in self.calls)


class Matcher:
    """Matches running calls to recorded calls, each recorded call once. Safe for threads."""

    def __init__(self, calls: Iterable[RecordedCall], renamed: Mapping[str, str] | None = None):
        """`calls`: recorded calls that can be answered, in the order in which they started. `renamed`: recorded path of
        an enclosing call → its path now."""
        self.renew_in_child()
        renew_in_child(self)
        self.progress = 0
        """Number of steps that branches have made."""
        self._renamed = sorted((renamed or {}).items(), key=lambda pair: len(pair[1]), reverse=True)
        self._left: dict[str, RecordedCall] = {}
        self._given_up: dict[str, RecordedCall] = {}
        self._by_question: dict[tuple[str, RequestRefs], dict[str, deque[RecordedCall]]] = {}
        self._by_path: dict[str, list[RecordedCall]] = {}
        self._by_arguments: dict[str | None, list[RecordedCall]] = {}
        self._flows: dict[str, _RecordedFlow] = {}
        self._flow_of_number: dict[str, str] = {}
        self._reached: dict[str, int] = {}
        self._claimed: set[str] = set()
        self._surely: set[str] = set()
        for call in calls:
            self._left[call.span.span_id] = call
            self._by_path.setdefault(call.path, []).append(call)
            self._by_arguments.setdefault(call.arguments, []).append(call)
            flows = self._by_question.setdefault((call.call_path, call.request_refs), {})
            flows.setdefault(call.flow, deque()).append(call)
            flow = self._flows.get(call.flow)
            if flow is None:
                flow = self._flows[call.flow] = _RecordedFlow(_parent_flow_number(call.flow), call.order, 0)
                self._flow_of_number[_flow_number(call.flow)] = call.flow
            flow.calls.append(call)
            flow.last = max(flow.last, _end_order(call))
        self._askers = {request_refs: len(flows) for request_refs, flows in self._by_question.items()}
        self._loose = {call.span.span_id for flow in self._flows.values() for call in _overlapping(flow.calls)}

    def renew_in_child(self) -> None:
        """Replaces the lock in a forked child."""
        # Notified when a call was found: an uncertain verdict may have changed.
        self._changed = threading.Condition()

    def match(
        self,
        call_path: str,
        request_refs: RequestRefs,
        flow: ExecutionFlow | None = None,
        *,
        branch_wait_seconds: float = 0,
    ) -> Match:
        """Returns the verdict on a call that is about to be made in this flow. Each recorded call is found once.

        If the verdict is uncertain, waits for other branches to make the calls that are left, until none of them has
        made a step for `branch_wait_seconds`: see `BranchTimeout`.
        """
        flow = flow or ExecutionFlow("", 0)
        if not call_path or not any(request_refs):
            # Calls of a forked child are recorded without a path, and calls without recorded arguments cannot be
            # compared: neither are answered.
            return RecordExhausted()
        call_paths = self.recorded_paths(call_path)
        with self._changed:
            verdict = self._match(call_paths, request_refs, flow)
            if not _is_unsure(verdict):  # as nearly always
                return verdict
            progress = self.progress
            branch_wait = BranchTimeout(branch_wait_seconds, progress)
            while True:
                while progress == self.progress:
                    if not branch_wait.may_continue(self.progress):
                        return verdict
                    self._changed.wait(_POLL_SECONDS)
                progress = self.progress
                verdict = self._match(call_paths, request_refs, flow)
                if not _is_unsure(verdict):
                    return verdict

    def note_progress(self) -> None:
        """Notes that a branch has made a step, so that waiting calls are matched again."""
        with self._changed:
            self._progress_made()

    def is_undecided(self, call_path: str, request_refs: RequestRefs, flow: ExecutionFlow | None) -> bool:
        """Whether the verdict is uncertain because other branches may still make calls."""
        if not call_path or not any(request_refs):
            return False
        call_paths = self.recorded_paths(call_path)
        with self._changed:
            if any(any(self._by_question.get((path, request_refs), {}).values()) for path in call_paths):
                return False
            return _is_unsure(self._not_found(call_paths, request_refs, flow or ExecutionFlow("", 0)))

    def _match(self, call_paths: list[str], request_refs: RequestRefs, flow: ExecutionFlow) -> Match:
        for call_path in call_paths:
            call = self._take(call_path, request_refs, flow)
            if call is not None:
                self._progress_made()
                return MatchedCall(call)
        return self._not_found(call_paths, request_refs, flow)

    def match_by_path(self, call_path: str, flow: ExecutionFlow | None = None) -> RecordedCall | None:
        """Returns the recorded call at this path when neither run recorded any arguments."""
        nothing = next((refs for path, refs in self._by_question if path == call_path and not any(refs)), None)
        with self._changed:
            return None if nothing is None else self._take(call_path, nothing, flow or ExecutionFlow("", 0))

    def left_at(self, call_paths: Iterable[str]) -> list[RecordedCall]:
        """Recorded calls at these paths that were not made again yet."""
        wanted = frozenset(call_paths)
        with self._changed:
            return [call for call in (*self._left.values(), *self._given_up.values()) if call.call_path in wanted]

    def unmatched(self) -> list[RecordedCall]:
        """Recorded calls that were not made again."""
        with self._changed:
            return sorted([*self._left.values(), *self._given_up.values()], key=lambda call: call.order)

    def unmatched_expected(self) -> list[RecordedCall]:
        """Recorded calls that were expected and not made again. Calls in a part that runs live are not expected."""
        with self._changed:
            return list(self._left.values())

    def goes_on_after(self, flow: ExecutionFlow | None) -> bool:
        """Whether the record has a call with a known outcome that this flow, or a flow that branches off from it, has
        not reached yet."""
        name, reached = ("", 0) if flow is None else (flow.name, flow.branched_at_order)
        with self._changed:
            reached = self._reached.get(name, reached)
            ahead = [call for call in self._left.values() if call.is_settled and call.order > reached]
            return any(call.flow == name or self._is_below(call.flow, name) for call in ahead)

    def continue_flow(self, flow: ExecutionFlow, call: RecordedCall, *, surely: bool) -> None:
        """Makes the running flow continue the recorded flow that made this enclosing call, unless another one does.
        `surely`: no other recorded call is equal."""
        with self._changed:
            if call.flow in self._flows and flow.name not in self._flows and call.flow not in self._claimed:
                flow.name = call.flow
                self._claimed.add(call.flow)
                if surely:
                    self._surely.add(call.flow)

    def mark_answered_inside(self, calls: Iterable[RecordedCall], flow: ExecutionFlow | None) -> None:
        """Marks calls inside a call that was answered as a whole: they are not expected any more."""
        with self._changed:
            for call in calls:
                if self._left.pop(call.span.span_id, None) is not None:
                    self._by_question[call.call_path, call.request_refs][call.flow].remove(call)
                    self._reach(call, flow)
            self._progress_made()

    def drop_expectations(self, path: str | None, flow: ExecutionFlow | None, expected: RecordedCall) -> None:
        """Stops expecting recorded calls below this path (None: all) in this flow, because the program has diverged."""
        flows = {flow.name if flow is not None else "", expected.flow}
        recorded = {call_path.rpartition(":")[0] for call_path in self.recorded_paths(f"{path}:")}
        recorded |= {expected.branch}
        with self._changed:
            for call in list(self._left.values()):
                branch = f"{call.call_path.rpartition(':')[0]}/"
                below = path is None or any(branch.startswith(f"{name}/") for name in recorded)
                if below and (call.flow in flows or any(self._is_below(call.flow, name) for name in flows)):
                    self._given_up[call.span.span_id] = self._left.pop(call.span.span_id)
            self._progress_made()

    def recognise(
        self, call_path: str, kind: str, request_refs: RequestRefs, arguments: str | None
    ) -> Recognised | None:
        """Finds the recorded call, not made again yet, that is repeated by a call of a program that has left the
        record: first at this path, then at others. None: there is none. Calls that may be repeated without harm are
        recognised by name, kind and request only; others by their arguments and name, or by their arguments and place,
        even if calls around them were added or removed."""
        call_paths = self.recorded_paths(call_path)
        paths = {recorded_path.rpartition(":")[0] for recorded_path in call_paths}
        own_names, branches = ({path.rpartition("/")[part] for path in paths} for part in (2, 0))
        others: list[Recognised] = []
        for call in self._with_arguments(arguments, call_paths):
            if arguments is None and not (call.path in paths and not any((*request_refs, *call.request_refs))):
                continue  # without recorded arguments (e.g. a block), the path must be equal
            if call.name in own_names and call.kind == kind and call.request_refs == request_refs:
                return Recognised(call, "same")
            if call.is_repeatable:
                continue
            if call.name in own_names:
                others.insert(0, Recognised(call, "kind" if call.kind != kind else "same"))
            elif any(_is_around(call.branch, branch) for branch in branches):
                others.append(Recognised(call, "name"))
        return others[0] if others else None

    def _with_arguments(self, arguments: str | None, call_paths: list[str]) -> list[RecordedCall]:
        """Recorded calls with these arguments that were not made again, the likeliest first."""
        with self._changed:
            calls = [
                call
                for call in self._by_arguments.get(arguments, ())
                if call.span.span_id in self._left or call.span.span_id in self._given_up
            ]
        return sorted(calls, key=lambda call: (call.call_path not in call_paths, not call.is_settled, call.order))

    def of_other_kind(
        self, call_path: str, arguments: str | None, flow: ExecutionFlow | None, *, is_known: bool
    ) -> RecordedCall | None:
        """Finds the recorded call that could be answered and is repeated by this function, whose calls cannot be
        answered now: one with these arguments at this path. `is_known`: the record has calls of the function's kind
        there. If not, the next call of this flow at the path counts, too, or, if the path has no calls left, one with
        these arguments elsewhere. None: there is none."""
        paths = {recorded_path.rpartition(":")[0] for recorded_path in self.recorded_paths(call_path)}
        with self._changed:
            here = [call for path in paths for call in self._by_path.get(path, ()) if call.span.span_id in self._left]
            if not here:
                return None if is_known else self._elsewhere_of_other_kind(paths, arguments)
            here.sort(key=lambda call: call.order)
            same = next((call for call in here if call.arguments == arguments), None)
            if same is not None or is_known:
                return same
            if flow is None:
                return None
            reached = self._reached.get(flow.name, 0)
            return next((call for call in here if call.flow == flow.name and call.order > reached), None)

    def _elsewhere_of_other_kind(self, paths: Collection[str], arguments: str | None) -> RecordedCall | None:
        """The call with this name and these arguments at another path that must not be made again; None: there is
        none."""
        own_names = {path.rpartition("/")[2] for path in paths}
        same = () if arguments is None else self._by_arguments.get(arguments, ())
        for call in same:
            is_open = call.span.span_id in self._left or call.span.span_id in self._given_up
            if is_open and call.name in own_names and not call.is_repeatable:
                return call
        return None

    def take(self, call: RecordedCall) -> bool:
        """Takes a recognised call; returns False if another branch has taken it meanwhile."""
        with self._changed:
            waiting = self._left.pop(call.span.span_id, None) or self._given_up.pop(call.span.span_id, None)
            same = self._by_question[call.call_path, call.request_refs].get(call.flow)
            if same is not None and call in same:
                same.remove(call)
            self._progress_made()
        return waiting is not None

    @property
    def has_given_up(self) -> bool:
        """Whether some recorded calls are not expected any more, because the program has diverged."""
        return bool(self._given_up)

    def recorded_paths(self, call_path: str) -> list[str]:
        """Call paths at which the record may have the call: recorded paths of renamed functions, then the path
        itself."""
        if not self._renamed:
            return [call_path]
        path, colon, kind = call_path.rpartition(":")
        paths: list[str] = []
        for old, new in self._renamed:
            if path == new or path.startswith(f"{new}/"):
                paths.append(f"{old}{path[len(new) :]}{colon}{kind}")
        return [*dict.fromkeys([*paths, call_path])]

    def _progress_made(self) -> None:
        self.progress += 1
        self._changed.notify_all()

    # --- found --------------------------------------------------------------------------------------------------------

    def _take(self, call_path: str, request_refs: RequestRefs, flow: ExecutionFlow) -> RecordedCall | None:
        """Takes the first call with this request: of this flow, else of a flow that no other branch continues."""
        flows = self._by_question.get((call_path, request_refs), {})
        which = flow.name
        if not flows.get(which):
            free = [name for name, calls in flows.items() if calls]
            which = next((name for name in free if name not in self._claimed), free[0] if free else None)
        if which is None:
            return None
        call = flows[which].popleft()
        self._left.pop(call.span.span_id, None)
        self._given_up.pop(call.span.span_id, None)
        if call.flow and flow.name and flow.name not in self._flows and call.flow not in self._claimed:
            flow.name = call.flow
        if call.flow == flow.name:
            self._claimed.add(call.flow)
            if self._askers[call_path, request_refs] == 1:
                self._surely.add(call.flow)
        self._reach(call, flow)
        return call

    def _reach(self, call: RecordedCall, flow: ExecutionFlow | None) -> None:
        order, reached = call.order, self._reached
        if order > reached.get(call.flow, 0):
            reached[call.flow] = order
        if flow is not None:
            if order > reached.get(flow.name, 0):
                reached[flow.name] = order
            flow.reached_order = max(flow.reached_order, order)

    # --- not found ----------------------------------------------------------------------------------------------------

    def _not_found(self, call_paths: list[str], request_refs: RequestRefs, flow: ExecutionFlow) -> Match:
        reached = self._reached.get(flow.name, flow.branched_at_order)
        # Calls that were passed (a removed step, an attempt that others have overtaken) do not come next.
        ahead = [call for call in self._left.values() if call.order > reached]
        own_calls = [call for call in ahead if call.flow == flow.name and call.span.span_id not in self._loose]
        if own_calls:
            if not flow.name:
                return _diverged(call_paths, request_refs, own_calls, DivergenceCertainty.CERTAIN)
            likely = flow.name in self._surely
            return _diverged(
                call_paths,
                request_refs,
                own_calls,
                DivergenceCertainty.LIKELY if likely else DivergenceCertainty.POSSIBLE,
            )
        graded = [(certainty, call) for call in ahead if (certainty := self._elsewhere(call, flow)) is not None]
        if not graded:
            return RecordExhausted()
        highest = max(certainty for certainty, _ in graded)
        return _diverged(call_paths, request_refs, [call for _, call in graded], highest)

    def _elsewhere(self, call: RecordedCall, flow: ExecutionFlow) -> DivergenceCertainty | None:
        """How certainly a call that is left in another flow shows that the program has changed; None: not at all."""
        if not call.is_settled:
            return None
        if call.flow == flow.name:  # the flow's calls overlapped, so it was not a single one
            return DivergenceCertainty.POSSIBLE
        theirs, mine = self._flows[call.flow], self._flows.get(flow.name)
        if call.flow and call.flow in self._claimed:
            return None  # another branch continues there
        if mine is None and flow.name:
            return self._before_unknown(call, flow)
        if mine is None:  # nothing of the run's own flow was recorded
            return DivergenceCertainty.LIKELY
        if mine.overlaps(theirs) or (not self._is_below(call.flow, flow.name) and theirs.overlaps(mine)):
            return None
        if self._is_below(call.flow, flow.name) or self._is_below(flow.name, call.flow):
            return DivergenceCertainty.LIKELY
        return DivergenceCertainty.POSSIBLE

    def _before_unknown(self, call: RecordedCall, flow: ExecutionFlow) -> DivergenceCertainty:
        """The certainty for a flow that the record may have under another number, or not at all."""
        parent = self._flow_of_number.get(_parent_flow_number(flow.name))
        if parent is None or call.flow != parent:
            return DivergenceCertainty.POSSIBLE
        recorded = self._flows[parent]
        branches = [branch for branch in self._flows.values() if branch.parent == _flow_number(parent)]
        beside = any(recorded.overlaps(branch) for branch in branches if branch is not recorded)
        return DivergenceCertainty.POSSIBLE if beside else DivergenceCertainty.LIKELY

    def _is_below(self, flow: str, other: str) -> bool:
        """Whether the flow branched off from the other one, directly or not."""
        seen: set[str] = set()
        while flow and flow not in seen:
            seen.add(flow)
            parent = self._flow_of_number.get(_parent_flow_number(flow), "")
            if parent == other or (not other and not parent):
                return True
            flow = parent
        return False


def _is_unsure(verdict: Match) -> bool:
    """Whether the verdict may change when other branches have made calls."""
    return isinstance(verdict, Diverged) and verdict.certainty is not DivergenceCertainty.CERTAIN


def _diverged(
    call_paths: list[str], request_refs: RequestRefs, remaining: list[RecordedCall], certainty: DivergenceCertainty
) -> Diverged:
    here = next((call for call in remaining if call.call_path in call_paths), None)
    if here is not None:
        return Diverged("changed", here, certainty)
    kind, name = call_paths[-1].rpartition(":")[2], call_paths[-1].rpartition(":")[0].rpartition("/")[2]
    same = [call for call in remaining if (call.kind, call.name, call.request_refs) == (kind, name, request_refs)]
    return Diverged("renamed", same[0], certainty) if same else Diverged("inserted", remaining[0], certainty)


def _is_around(left: str, right: str) -> bool:
    """Whether two paths of enclosing names are equal except for names that only one of them has."""
    longer = iter(max(left, right, key=len).split("/"))
    return all(name in longer for name in min(left, right, key=len).split("/") if name)


def _end_order(call: RecordedCall) -> int:
    return FOREVER if call.ended is None else max(call.ended[0], call.order)


def _overlapping(calls: list[RecordedCall]) -> list[RecordedCall]:
    """Calls of one flow that were open at the same time: the program switches between branches by other means than
    tasks and threads. Streams and generators do not count, since their consumer makes other calls meanwhile."""
    overlapping: dict[str, RecordedCall] = {}
    open_: list[RecordedCall] = []
    for call in calls:
        if call.kind == "llm" or call.span.attributes.get(names.OUTPUT_TYPE) == "items":
            continue
        open_ = [other for other in open_ if _end_order(other) >= call.order]
        for other in open_:
            if not call.call_path.startswith(f"{other.call_path.rpartition(':')[0]}/"):
                overlapping |= {other.span.span_id: other, call.span.span_id: call}
        open_.append(call)
    return list(overlapping.values())


def _flow_number(flow: str) -> str:
    return flow.partition("<")[0]


def _parent_flow_number(flow: str) -> str:
    return flow.partition("<")[2]


# --- ids and keys of running calls ------------------------------------------------------------------------------------


def use_recorded_ids(span: ObservedSpan, call: RecordedCall) -> None:
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
        self._mutex = ForkSafeLock()
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
