"""How much work some code does, counted: the load of the machine does not matter."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def work_of(compute: Callable[[], Any]) -> int:
    """How many lines of Python are run, and functions called, those of C included."""
    counted = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        counted += 1
        return trace

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal counted
        counted += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        compute()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return counted
