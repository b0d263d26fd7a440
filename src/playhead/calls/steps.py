"""Work as a generator of steps, so that the same code serves callers with and without asyncio.

A step is a function to call (with asyncio, in a thread), or a pause in seconds. The generator is sent the function's
result; an exception of the function is thrown into it.
"""

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Step = float | Callable[[], Any]
Steps = Generator[Step, Any, T]


def run_steps(steps: Steps[T]) -> T:
    """Runs the steps in this thread, and returns the generator's result."""
    try:
        step = next(steps)
        while True:
            try:
                result = step() if callable(step) else time.sleep(step)
            except BaseException as error:  # noqa: BLE001 - for the generator to see
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as stop:
        return stop.value


async def run_steps_async(steps: Steps[T]) -> T:
    """Runs the steps in a task without blocking other tasks, and returns the generator's result."""
    import asyncio  # noqa: PLC0415 - see `asyncio_here`

    try:
        step = next(steps)
        while True:
            try:
                result = await (asyncio.to_thread(step) if callable(step) else asyncio.sleep(step))
            except BaseException as error:  # noqa: BLE001 - for the generator to see
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as stop:
        return stop.value
