"""How a process gives way to those that take spans."""

import os
import sys
from contextlib import suppress
from typing import Final

# With all cores in use by the collector, a process of this niceness gets a tenth of one.
NICE: Final = 10
_LOWEST: Final = 19


def give_way(pid: int) -> None:
    """Lowers the priority of a process that was just started, relative to this one.  Windows knows none of this."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # it has ended already, which its next question shows
        os.setpriority(os.PRIO_PROCESS, pid, min(_LOWEST, os.getpriority(os.PRIO_PROCESS, 0) + NICE))
