"""Coroutines that wait for nothing, run without an event loop: questions of a store that reads files or memory."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def finished(answering: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing.  Raises what it raises, and RuntimeError for one that waits."""
    try:
        answering.send(None)
    except StopIteration as done:
        return done.value
    answering.close()
    raise RuntimeError("this question waits for something, and needs an event loop")
