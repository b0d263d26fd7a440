"""Runs coroutines that never wait, without an event loop: those of a store that reads files or memory."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def finished(answering: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits, and returns its result. Raises what the coroutine raises, and RuntimeError if
    it waits."""
    try:
        answering.send(None)
    except StopIteration as done:
        return done.value
    answering.close()
    raise RuntimeError("this question waits for something, and needs an event loop")
