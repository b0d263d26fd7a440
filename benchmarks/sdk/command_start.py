"""B1: CPU of a command that asks a collector, from the start of its process, and of its help.

The least of several starts: the command waits for little but the collector, and the machine may be shared.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.collector import collector
from tests.support.bar import Row, at_most
from tests.support.made_up_runs import MadeUpRun, send

_LIMIT_MS = 400
_ROUNDS = 10
_RUNS, _STEPS = 20, 10
_COMMANDS = (("runs",), ("state", "last"), ("events", "--help"), ("--help",))


def measure() -> Iterator[Row]:
    with collector() as at:
        runs = [MadeUpRun(_STEPS) for _ in range(_RUNS)]
        send(at.url, runs)
        at.wait_sealed([run.run for run in runs])
        for command in _COMMANDS:
            value = min(_cpu_ms(command, at.url) for _ in range(_ROUNDS))
            yield at_most("B1", f"CPU of `{' '.join(command)}`", value, _LIMIT_MS, unit="ms", against=f"{_RUNS} runs")


def _cpu_ms(command: tuple[str, ...], url: str) -> float:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        (sys.executable, "-m", "playhead", *command),
        check=True,
        capture_output=True,
        env={**environ, "PLAYHEAD_COLLECTOR_URL": url},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
