"""A flag that a thread waits for, like `threading.Event`, and that may be set anywhere.

A signal's handler, or the garbage collector that ends a dropped call, interrupts a thread at any line, also inside the
methods of an `Event`. These hold a lock that the thread cannot take again, so that an `Event` that is set there waits
for ever. Here nothing runs while a lock is held.
"""

import threading
import time
from contextlib import suppress


class Bell:
    """A flag to wait for. Safe for threads, signal handlers and finalizers; make a new one in a forked child."""

    __slots__ = ("_is_set", "_silence")

    def __init__(self) -> None:
        """Not set."""
        self._is_set = False
        # Waiting is trying to take it; setting the flag releases it. Both are one step of the interpreter.
        self._silence = threading.Lock()
        self._silence.acquire()

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Sets it: threads that wait go on."""
        self._is_set = True
        self._release()

    def clear(self) -> None:
        """Unsets it."""
        self._is_set = False
        self._silence.acquire(blocking=False)

    def wait(self, seconds: float) -> bool:
        """Waits until it is set, at most so many seconds.  Returns whether it is set."""
        end = time.monotonic() + seconds
        while not self._is_set:
            rest = end - time.monotonic()
            if rest <= 0 or not self._silence.acquire(timeout=min(rest, threading.TIMEOUT_MAX)):
                break
            if self._is_set:
                self._release()  # for others that wait
        return self._is_set

    def _release(self) -> None:
        with suppress(RuntimeError):  # it was released already
            self._silence.release()
