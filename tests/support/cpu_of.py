"""CPU time of processes, from Linux' /proc: a collector's and its database's."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat behind the name, which may hold anything: state, parent, ...; user and system time.
_PARENT, _USER, _SYSTEM = 1, 11, 12


def cpu_seconds(*roots: int) -> float:
    """What these processes and all below them have used so far."""
    stats = {int(folder.name): stat for folder in Path("/proc").glob("[0-9]*") if (stat := _stat(folder))}
    wanted, found = set(roots), set[int]()
    while wanted != found:
        found = set(wanted)
        wanted |= {pid for pid, stat in stats.items() if int(stat[_PARENT]) in found}
    ticks = sum(int(stats[pid][_USER]) + int(stats[pid][_SYSTEM]) for pid in wanted if pid in stats)
    return ticks / _TICKS


def _stat(folder: Path) -> list[str]:
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return []
