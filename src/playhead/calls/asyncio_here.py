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
    get_running_loop = _of_asyncio("get_running_loop")
    if get_running_loop is None:
        return None
    try:
        return get_running_loop()
    except RuntimeError:  # none runs
        return None


def running_task() -> Any:
    """Returns the task that runs in this thread, or None."""
    loop = running_loop()
    current_task = _of_asyncio("current_task")
    return None if loop is None or current_task is None else current_task(loop)


def is_only_task_of(loop: Any) -> bool:
    """Whether the loop has at most one task that is not done."""
    return len(_of_asyncio("all_tasks")(loop)) <= 1


def is_cancelled_error(raised: BaseException) -> bool:
    """Whether asyncio raised this in a task that was cancelled."""
    kind = _of_asyncio("CancelledError")
    return kind is not None and isinstance(raised, kind)
