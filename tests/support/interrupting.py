"""Interrupts a function in the middle of a lock, a flag or a queue, as a signal or the garbage collector does."""

import sys
import threading
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any


def interrupted_at(number: int, handler: Callable[[], object], function: Callable[[], object], *files: ModuleType):
    """Calls the function, and the handler at the `number`th line that the function executes in these modules. Returns
    whether there are so many."""
    names, seen = {file.__file__ for file in files}, 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in names:
            return None
        seen += event in ("line", "return")
        if seen == number:
            sys.settrace(None)
            seen += 1
            handler()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return seen >= number


def returns(function: Callable[[], object]) -> bool:
    """Whether the function returns within a minute; it is called in a thread of its own."""
    returned: list[bool] = []

    def call() -> None:
        function()
        returned.append(True)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(60)
    return bool(returned)
