"""In which order answers of parallel calls are given back: as the calls had ended.

A program may go on by what comes first (`asyncio.as_completed`, a queue): in another order it would ask something else.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playhead.api.forks import fork_safe_lock
from playhead.replay.matching.recorded_calls import RecordedCall

# The last ones before a call, each of which waits for those before it: of a thousand calls at once, each would
# otherwise wait for all others.
_MAX_EARLIER = 16
# In this time a thread that waits for results takes one: of two that have come, `as_completed` gives either first.
_REST_SECONDS = 0.005


class EndingOrder:
    """Which calls have had their answers, and which come before which.  Safe for threads."""

    def __init__(self, calls: Sequence[RecordedCall], now: Callable[[], float] = time.monotonic):
        """`calls` of a record that can be answered, but for those inside others of them, which are not made again."""
        self._earlier = _earlier(calls)
        """Span id → span ids of those that have not had their answers yet."""
        self._later: dict[str, list[str]] = {}
        for later, earlier in self._earlier.items():
            for each in earlier:
                self._later.setdefault(each, []).append(later)
        self._wake: dict[str, Callable[[], object]] = {}
        self._now = now
        self._given_at = float("-inf")
        self._is_off = False
        self._mutex = fork_safe_lock()

    def is_due(self, call: RecordedCall) -> bool:
        """Whether all that ran at the same time and had ended earlier has had its answer."""
        return self._is_off or not self._earlier.get(call.span.span_id)

    def when_due(self, call: RecordedCall, wake: Callable[[], object]) -> None:
        """Calls `wake` once it is due, which may be at once, in any thread."""
        with self._mutex:
            waits = not self.is_due(call)
            if waits:
                self._wake[call.span.span_id] = wake
        if not waits:
            wake()

    def rest_seconds(self, call: RecordedCall) -> float:
        """How long a thread waits with this answer after the one before it, once it is due; 0 or less: not at all."""
        is_alone = self._is_off or call.span.span_id not in self._earlier
        return 0.0 if is_alone else self._given_at + _REST_SECONDS - self._now()

    def give(self, call: RecordedCall) -> None:
        """Its answer is given back now, or it is executed again."""
        given = call.span.span_id
        due: list[Callable[[], object]] = []
        with self._mutex:
            self._given_at = self._now()
            for later in self._later.pop(given, ()):
                earlier = self._earlier[later]
                earlier.discard(given)
                if not earlier and later in self._wake:
                    due.append(self._wake.pop(later))
        for wake in due:
            wake()

    def give_up(self) -> None:
        """The program has changed: what is waited for may never come."""
        with self._mutex:
            self._is_off = True
            due, self._wake = list(self._wake.values()), {}
        for wake in due:
            wake()


@dataclass(frozen=True, slots=True)
class EndingTurn:
    """When one call has its answer: see `api.replaying.AnswerTurn`."""

    order: EndingOrder
    call: RecordedCall

    def is_due(self) -> bool:
        """See `AnswerTurn`."""
        return self.order.is_due(self.call)

    def when_due(self, wake: Callable[[], object]) -> None:
        """See `AnswerTurn`."""
        self.order.when_due(self.call, wake)

    def rest_seconds(self) -> float:
        """See `AnswerTurn`."""
        return self.order.rest_seconds(self.call)

    def take(self) -> None:
        """See `AnswerTurn`."""
        self.order.give(self.call)

    def give_up(self) -> None:
        """See `AnswerTurn`."""
        self.order.give_up()


def _earlier(calls: Sequence[RecordedCall]) -> dict[str, set[str]]:
    """The span id of each call → those of calls in other flows that ended while it ran."""
    ended = [(call.ended, call) for call in calls if call.ended is not None and call.is_settled]
    ended.sort(key=lambda each: each[0][1])
    found: dict[str, set[str]] = {}
    for number, (_, call) in enumerate(ended):
        before: set[str] = set()
        for (started, _), other in reversed(ended[max(0, number - _MAX_EARLIER) : number]):
            if started < call.order:
                break  # it, and all before it, had ended when this call began
            if other.flow != call.flow:
                before.add(other.span.span_id)
        if before:
            found[call.span.span_id] = before
    return found
