"""A bounded cache of results with a time to live. Safe for threads and for forks.

Each key is computed by one caller at a time (a flight); the others wait for its result. If it fails, each of them
computes the value itself, as without a cache.
"""

import copy
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, cast

from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import warn_once

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})


class FlightFailed(Exception):
    """The caller that computed the value has failed, or was cancelled."""


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts since the cache was made or cleared. `waits`: calls that got the result of another call under way.
    `uncached`: calls whose arguments or result cannot be cached. `items`: results that it holds now."""

    hits: int = 0
    misses: int = 0
    waits: int = 0
    expired: int = 0
    evicted: int = 0
    uncached: int = 0
    items: int = 0

    @property
    def hit_share(self) -> float:
        """Share (0 to 1) of the calls that did not compute their result."""
        saved = self.hits + self.waits
        total = saved + self.misses + self.uncached
        return saved / total if total else 0.0


@dataclass(slots=True)
class _CacheCounts:
    hits: int = 0
    misses: int = 0
    waits: int = 0
    expired: int = 0
    evicted: int = 0
    uncached: int = 0


@dataclass(frozen=True, slots=True)
class _StoredResult:
    value: Any
    until: float


class Flight:
    """A value that one caller computes. `result` is for the callers that wait."""

    __slots__ = ("pid", "result")

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.result: Future[Any] = Future()


class ResultCache:
    """Results by key. `ttl`: seconds for which a result is given out after it was computed; None: for ever.
    `max_items`: the least recently used result goes first. Results are copied when they are stored and when they are
    given out."""

    def __init__(self, ttl: float | None, max_items: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl = math.inf if ttl is None else ttl
        self._max_items = max_items
        self._clock = clock
        self._lock = ForkSafeLock()
        self._stored: OrderedDict[str, _StoredResult] = OrderedDict()
        self._flights: dict[str, Flight] = {}
        self._counts = _CacheCounts()

    @property
    def statistics(self) -> CacheStatistics:
        """Counts until now."""
        with self._lock:
            now = self._clock()
            items = sum(stored.until > now for stored in self._stored.values())
            counts = self._counts
            return CacheStatistics(
                counts.hits, counts.misses, counts.waits, counts.expired, counts.evicted, counts.uncached, items
            )

    def clear(self) -> None:
        """Forgets all results and counts. Calls under way are not affected, and their results are stored."""
        with self._lock:
            self._stored.clear()
            self._counts = _CacheCounts()

    # --- for the decorator -------------------------------------------------------------------------------------------

    def look_up(self, key: str) -> "tuple[Any] | Flight | None":
        """Returns the result in a tuple; the flight that computes it; or None: the caller has to compute it, and to
        call `store` or `fail`."""
        with self._lock:
            stored = self._stored.get(key)
            if stored is not None and stored.until > self._clock():
                self._stored.move_to_end(key)
                self._counts.hits += 1
            else:
                if stored is not None:
                    del self._stored[key]
                    self._counts.expired += 1
                flight = self._flights.get(key)
                if flight is not None and flight.pid == os.getpid():  # else its caller is not in this forked child
                    return flight
                self._flights[key] = Flight()
                self._counts.misses += 1
                return None
        return (copied(stored.value),)

    def store(self, key: str, value: object) -> None:
        """Stores a computed result, if it can be copied, and gives it to the callers that wait."""
        own = self._own_copy(value)
        with self._lock:
            flight = self._flights.pop(key, None)
            if own is None:
                self._counts.uncached += 1
            else:
                self._stored[key] = _StoredResult(own[0], self._clock() + self._ttl)
                self._stored.move_to_end(key)
                while len(self._stored) > self._max_items:
                    self._stored.popitem(last=False)
                    self._counts.evicted += 1
        if flight is not None:
            flight.result.set_exception(FlightFailed()) if own is None else flight.result.set_result(own[0])

    def fail(self, key: str) -> None:
        """Ends the flight without a result."""
        with self._lock:
            flight = self._flights.pop(key, None)
        if flight is not None:
            flight.result.set_exception(FlightFailed())

    def waited(self, *, has_result: bool) -> None:
        """Counts a call that has waited: for a result, or in vain."""
        with self._lock:
            if has_result:
                self._counts.waits += 1
            else:
                self._counts.misses += 1

    def copy_of(self, value: object) -> Any:
        """Returns a copy of a result that was waited for."""
        return copied(value)

    def not_looked_up(self) -> None:
        """Counts a call whose arguments cannot be a key."""
        with self._lock:
            self._counts.uncached += 1

    @staticmethod
    def _own_copy(value: object) -> tuple[Any] | None:
        """Returns a copy that the program cannot change; None if there can be none."""
        try:
            return (copied(value),)
        except Exception as error:  # noqa: BLE001 - it is the program's object, and may raise anything
            kind = type(value).__name__
            warn_once(f"cached {kind}", f"a result of type {kind} is not cached, since it cannot be copied: {error!r}")
            return None


def copied(value: Any) -> Any:
    """Returns a deep copy; of an object that nobody can change, the object. Raises what its copying raises."""
    return value if type(value) in _ATOMS else copy.deepcopy(cast(object, value))
