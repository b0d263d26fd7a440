"""Marks the time in which a thread reads the program's objects.

Observed functions that are called meanwhile are no calls of the program, since they would not happen if nothing were
recorded.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager


class _ReadingState(threading.local):
    """Whether this thread reads objects now."""

    active = False


READING = _ReadingState()


@contextmanager
def reading() -> Generator[None]:
    """Within the block, calls of observed functions in this thread are executed without being recorded."""
    before, READING.active = READING.active, True
    try:
        yield
    finally:
        READING.active = before
