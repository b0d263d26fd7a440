"""Reads asyncio's current loop and task without importing asyncio: if the program has not imported it, there are none.

asyncio takes long to import (it imports `ssl`), and most programs with observed functions have no use for it.
"""

import sys
from typing import Any


def _of_asyncio(name: str) -> Any:
    """Returns an attribute of the module asyncio; None if asyncio is not imported, or another thread is importing
    it."""
    return getattr(sys.modules.get("asyncio"), name, None)


def running_loop() -> Any:
    """Returns the loop that runs in this thread, or None."""
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.get_running_loop()
    except (RuntimeError, AttributeError):  # none runs; or another thread is importing asyncio
        return None


def running_task() -> Any:
    """Returns the task that runs in this thread, or None."""
    return task_of(running_loop())


def task_of(loop: object) -> Any:
    """Returns the task that this loop, which runs in this thread, executes; None without a loop or a task."""
    current_task = _of_asyncio("current_task")
    return None if loop is None or current_task is None else current_task(loop)


def is_only_task_of(loop: object) -> bool:
    """Whether the loop has at most one task that is not done."""
    return len(_of_asyncio("all_tasks")(loop)) <= 1


def is_cancelled_error(raised: BaseException) -> bool:
    """Whether asyncio raised this in a task that was cancelled."""
    kind = _of_asyncio("CancelledError")
    return kind is not None and isinstance(raised, kind)
