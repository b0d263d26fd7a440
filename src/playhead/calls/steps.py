"""Work as a generator, so that the same code serves callers with and without asyncio.

The generator yields what is to be done for it, and is sent the result; an exception is thrown into it. Most work
consists of steps: a step is a function to call (with asyncio, in a thread), or a pause in seconds.
"""

import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Asked = TypeVar("Asked")
Given = TypeVar("Given")
Step = float | Callable[[], Any]
Steps = Generator[Step, Any, T]


def finished(work: Generator[Asked, Given, T], do: Callable[[Asked], Given]) -> T:
    """Does what the generator yields, by `do`, and returns the generator's result."""
    try:
        asked = next(work)
        while True:
            try:
                given = do(asked)
            except BaseException as error:  # noqa: BLE001 - for the generator to see
                asked = work.throw(error)
            else:
                asked = work.send(given)
    except StopIteration as stop:
        return stop.value


async def finished_async(work: Generator[Asked, Given, T], do: Callable[[Asked], Awaitable[Given]]) -> T:
    """The same, where `do` is awaited."""
    try:
        asked = next(work)
        while True:
            try:
                given = await do(asked)
            except BaseException as error:  # noqa: BLE001 - for the generator to see
                asked = work.throw(error)
            else:
                asked = work.send(given)
    except StopIteration as stop:
        return stop.value


def run_steps(steps: Steps[T]) -> T:
    """Runs the steps in this thread, and returns the generator's result."""
    return finished(steps, lambda step: step() if callable(step) else time.sleep(step))


async def run_steps_async(steps: Steps[T]) -> T:
    """Runs the steps in a task without blocking other tasks, and returns the generator's result."""
    import asyncio  # noqa: PLC0415 - see `asyncio_here`

    return await finished_async(steps, lambda step: asyncio.to_thread(step) if callable(step) else asyncio.sleep(step))
