"""[room]: how much this process may append before the folder, which all processes share, is measured again."""

from collections.abc import Callable
from random import SystemRandom

# The last fifth of the limit is reserved for calls: before it, payloads are replaced by markers.
_FOR_PAYLOADS = 0.8
# All processes share the limit: each writes at most a 64th of it before it measures the folder again.
_MAX_ALLOWED = 64
# Measuring costs as much as some hundred appends, so no process does it for less than a 4096th of the limit.
_MIN_ALLOWED = 4096
# How long a call waits for a measurement: if the last one found room; if it found none (once a second at most).
_WAIT_SECONDS, _FULL_WAIT_SECONDS = 0.25, 0.02
# How often to measure while there is room, and how often while there is none.
_LOOK_SECONDS, _SHORT_LOOK_SECONDS = 5.0, 1.0
# Not the generator of `random`: a program that seeds that one must get the numbers that it expects.
_random = SystemRandom()


class Room:
    """The room that is left for this process, as of the last measurement.  Sizes in bytes."""

    __slots__ = ("_beyond", "_left", "_looked", "_max_bytes", "_measurements", "_now", "_reserve", "allowance")

    def __init__(self, max_bytes: int, now: Callable[[], float]):
        """`max_bytes`: the limit of all processes.  `now`: seconds of a clock that only goes forward."""
        self.allowance = max_bytes // _MAX_ALLOWED
        """Bytes that may be appended before the folder has to be measured."""
        self._reserve = 0
        """Bytes that may be appended during a measurement, without waiting for it."""
        self._beyond = self.allowance
        """Bytes that may be appended in addition, if a measurement takes long."""
        self._left = max_bytes
        """Bytes that all processes together may append."""
        self._max_bytes = max_bytes
        self._now = now
        self._looked = now()
        self._measurements = 0

    def take(self, size: int, measure: Callable[[float], None]) -> bool:
        """Reserves `size` bytes; returns False if they are not available.

        Calls `measure(seconds)` when the folder has to be measured first: how long to wait for the result.
        """
        before = self._measurements
        if size > self.allowance and (self._left >= size or self._is_old(_SHORT_LOOK_SECONDS)):
            reserve, self._reserve = self._reserve, 0
            self.allowance += reserve
            measure(0.0 if size <= self.allowance else _WAIT_SECONDS if size <= self._left else _FULL_WAIT_SECONDS)
        if size <= self.allowance:
            self.allowance -= size
            return True
        if self._measurements > before and size <= self._left:
            self.allowance = 0
            return True
        if size > self._beyond:
            return False
        self._beyond -= size
        return True

    def begin_measurement(self) -> None:
        """To be called before the folder is measured, so that no other measurement begins meanwhile."""
        self._looked = self._now()

    def measured(self, remaining_bytes: int, active_lanes: int) -> bool:
        """Notes the bytes that are left for all processes.  Returns whether there is room for payloads, too."""
        self._left = remaining_bytes
        share = remaining_bytes // max(1, active_lanes)  # what each process may write before any of them measures again
        least, most = self._max_bytes // _MIN_ALLOWED, self._max_bytes // _MAX_ALLOWED
        self.allowance = min(remaining_bytes, most, max(least, share // 2))
        self._reserve = max(0, min(self.allowance, share - self.allowance))
        self._beyond = max(0, share - self.allowance - self._reserve)
        return remaining_bytes > self._max_bytes * (1 - _FOR_PAYLOADS)

    def end_measurement(self) -> None:
        """To be called after a measurement; if it failed, the room of the last one remains valid."""
        self._measurements += 1

    def is_look_due(self, *, more_often_if_short: bool = False) -> bool:
        """Whether the background should measure now, so that no call has to wait for it."""
        is_short = more_often_if_short and self._left <= self._max_bytes // 4
        return self._is_old(_SHORT_LOOK_SECONDS if is_short else _LOOK_SECONDS)

    def is_first_look_due(self) -> bool:
        """Whether a young process should measure the folder: it may end before its first regular measurement.

        Measuring takes time with thousands of lanes, so a process that writes little does so with a small
        probability: together, such processes measure once per so many bytes."""
        if self._measurements:
            return False
        written = self._max_bytes // _MAX_ALLOWED - self.allowance
        return _random.random() * (self._max_bytes // _MIN_ALLOWED) < written

    def _is_old(self, seconds: float) -> bool:
        return self._now() - self._looked >= seconds
