"""Work in steps that either a thread or a task runs: a generator, for callers with and without asyncio.

A step is a function, which is called (in a thread, with asyncio), or a number: a pause in seconds.  The generator is
sent what the function returned, or has raised in it what the function raised.
"""

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Step = float | Callable[[], Any]
Waiting = Generator[Step, Any, T]


def drive(steps: Waiting[T]) -> T:
    """Runs the steps in this thread."""
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


async def drive_async(steps: Waiting[T]) -> T:
    """Runs the steps in a task: other tasks go on meanwhile."""
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
