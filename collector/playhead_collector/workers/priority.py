"""Gives worker processes a lower priority than the process that receives spans."""

import os
import sys
from contextlib import suppress
from typing import Final

# While the collector uses all cores, a process with this niceness gets a tenth of one.
NICE: Final = 10
_LOWEST: Final = 19


def give_way(pid: int) -> None:
    """Lowers the priority of a process that was just started, relative to this one.  Does nothing on Windows."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # the process has ended already: its next question reports that
        os.setpriority(os.PRIO_PROCESS, pid, min(_LOWEST, os.getpriority(os.PRIO_PROCESS, 0) + NICE))
