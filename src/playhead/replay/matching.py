"""Which recorded call a call is.  Pure but for remembering what has been answered already.

A call is found by its place (path of enclosing observed names, kind, name) and its question (refs of everything it was
asked), the first such call first: so parallel branches match in any order, and a changed argument never matches.
A call that is not found is new when its branch of the record is used up, and has diverged when it is not.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from playhead.api.forks import fork_safe_lock
from playhead.replay.calls import Outcome, Question, RecordedCall


@dataclass(frozen=True, slots=True)
class Found:
    """This recorded call is the one."""

    call: RecordedCall


@dataclass(frozen=True, slots=True)
class Beyond:
    """The record says nothing about this call: it ended before."""


@dataclass(frozen=True, slots=True)
class Diverged:
    """The record goes on otherwise.  `changed`: `expected` stands at this place, with another question; `inserted`:
    the record has no such call here, and `expected` is what it has instead."""

    how: Literal["changed", "inserted"]
    expected: RecordedCall


Match = Found | Beyond | Diverged


class Matcher:
    """Answers each recorded call once.  Safe for threads."""

    def __init__(self, calls: Iterable[RecordedCall]):
        """`calls`: those that can be answered, in the order in which they started."""
        self._mutex = fork_safe_lock()
        self._by_question: dict[tuple[str, Question], deque[RecordedCall]] = {}
        self._by_branch: dict[str, dict[str, RecordedCall]] = {}
        self._reached: dict[str, int] = {}
        for call in calls:
            self._by_question.setdefault((call.place, call.question), deque()).append(call)
            self._by_branch.setdefault(call.branch, {})[call.span.span_id] = call

    def match(self, place: str, question: Question) -> Match:
        """The verdict on a call that is about to be made."""
        if not any(question):
            return Beyond()  # nothing of the arguments was recorded: nothing can be checked, so nothing is answered
        branch = place.rpartition(":")[0].rpartition("/")[0]
        with self._mutex:
            waiting = self._by_question.get((place, question))
            if waiting:
                call = waiting.popleft()
                self._by_branch[call.branch].pop(call.span.span_id, None)
                for reached in (place, branch):
                    self._reached[reached] = max(call.order, self._reached.get(reached, 0))
                return Found(call)
            rest = list(self._by_branch.get(branch, {}).values())
            return _not_found(place, rest, self._reached.get(place, 0), self._reached.get(branch, 0))

    def left(self) -> list[RecordedCall]:
        """Calls of the record that were not made again."""
        with self._mutex:
            rest = [call for branch in self._by_branch.values() for call in branch.values()]
        return sorted(rest, key=lambda call: call.order)


def _not_found(place: str, rest: list[RecordedCall], reached_here: int, reached: int) -> Match:
    """What was passed by (a removed step, an attempt that others have overtaken) is not what comes next."""
    here = [call for call in rest if call.place == place and call.order > reached_here]
    if here:
        # Where calls ran in parallel, those left may still be coming: only one that stood alone was replaced.
        alone = [call for call in here if not _overlaps(call, rest)]
        return Diverged("changed", alone[0]) if alone else Beyond()
    settled = [call for call in rest if call.outcome is not Outcome.IN_DOUBT and not _overlaps(call, rest)]
    next_ = [call for call in settled if call.order > reached]
    return Diverged("inserted", next_[0]) if next_ else Beyond()


def _overlaps(call: RecordedCall, others: list[RecordedCall]) -> bool:
    """Whether the call ran at the same time as another one of these."""
    return any(other is not call and _began_within(call, other) for other in others) or any(
        other is not call and _began_within(other, call) for other in others
    )


def _began_within(call: RecordedCall, other: RecordedCall) -> bool:
    """Whether `call` began while `other` was open."""
    return other.order < call.order and (other.ended is None or other.ended[0] >= call.order)
