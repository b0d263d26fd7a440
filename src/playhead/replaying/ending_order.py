"""Returns the answers of parallel calls in the order in which the calls ended in the record.

A program may act on the first result (`asyncio.as_completed`, a queue): in another order it would make other calls.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playhead.kernel.forks import ForkSafeLock
from playhead.replaying.recorded_calls import RecordedCall

# A call waits only for the last ones before it, which wait for those before them: of a thousand calls at once, each
# would otherwise wait for all others.
_MAX_EARLIER = 16
# Time in which a waiting thread takes a result: of two results that are there, `as_completed` may yield either first.
_REST_SECONDS = 0.005


class EndingOrder:
    """Tracks which calls have been answered, and which answers come before which. Safe for threads."""

    def __init__(self, calls: Sequence[RecordedCall], now: Callable[[], float] = time.monotonic):
        """`calls`: recorded calls that can be answered, without those inside others of them, which are not made
        again."""
        self._earlier = _earlier(calls)
        """Span id → span ids of earlier calls that are not answered yet."""
        self._later: dict[str, list[str]] = {}
        for later, earlier in self._earlier.items():
            for earlier_id in earlier:
                self._later.setdefault(earlier_id, []).append(later)
        self._wake: dict[str, Callable[[], object]] = {}
        self._now = now
        self._given_at = float("-inf")
        self._is_off = False
        self._mutex = ForkSafeLock()

    def is_due(self, call: RecordedCall) -> bool:
        """Whether all calls that ran at the same time and ended earlier have been answered."""
        return self._is_off or not self._earlier.get(call.span.span_id)

    def on_due(self, call: RecordedCall, wake: Callable[[], object]) -> None:
        """Calls `wake` as soon as the answer is due: perhaps at once, and in any thread."""
        with self._mutex:
            waits = not self.is_due(call)
            if waits:
                self._wake[call.span.span_id] = wake
        if not waits:
            wake()

    def rest_seconds(self, call: RecordedCall) -> float:
        """Seconds that a thread still has to wait after the previous answer, once this one is due; 0 or less: none."""
        is_alone = self._is_off or call.span.span_id not in self._earlier
        return 0.0 if is_alone else self._given_at + _REST_SECONDS - self._now()

    def deliver(self, call: RecordedCall) -> None:
        """Notes that the call is answered now, or executed again. Later answers may become due."""
        span_id = call.span.span_id
        due: list[Callable[[], object]] = []
        with self._mutex:
            self._given_at = self._now()
            for later in self._later.pop(span_id, ()):
                earlier = self._earlier[later]
                earlier.discard(span_id)
                if not earlier and later in self._wake:
                    due.append(self._wake.pop(later))
        for wake in due:
            wake()

    def abandon(self) -> None:
        """Ends all waiting, because the program has changed: earlier calls may never come."""
        with self._mutex:
            self._is_off = True
            due, self._wake = list(self._wake.values()), {}
        for wake in due:
            wake()


@dataclass(frozen=True, slots=True)
class OrderedAnswerSlot:
    """The turn of one call's answer: see `calls.replay.AnswerSlot`."""

    order: EndingOrder
    call: RecordedCall

    def is_due(self) -> bool:
        """See `AnswerSlot`."""
        return self.order.is_due(self.call)

    def on_due(self, wake: Callable[[], object]) -> None:
        """See `AnswerSlot`."""
        self.order.on_due(self.call, wake)

    def rest_seconds(self) -> float:
        """See `AnswerSlot`."""
        return self.order.rest_seconds(self.call)

    def deliver(self) -> None:
        """See `AnswerSlot`."""
        self.order.deliver(self.call)

    def abandon(self) -> None:
        """See `AnswerSlot`."""
        self.order.abandon()


def _earlier(calls: Sequence[RecordedCall]) -> dict[str, set[str]]:
    """Span id of each call → span ids of calls in other flows that ended while it ran."""
    ended = [(call.ended, call) for call in calls if call.ended is not None and call.is_settled]
    ended.sort(key=lambda pair: pair[0][1])
    earlier: dict[str, set[str]] = {}
    for number, (_, call) in enumerate(ended):
        before: set[str] = set()
        for (started, _), other in reversed(ended[max(0, number - _MAX_EARLIER) : number]):
            if started < call.order:
                break  # this one, and all before it, had ended when the call began
            if other.flow != call.flow:
                before.add(other.span.span_id)
        if before:
            earlier[call.span.span_id] = before
    return earlier
