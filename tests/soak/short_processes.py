"""10,000 short processes, at most 50 at a time, into one journal folder and one collector: each run arrives whole."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playhead_collector.process import CollectorProcess
from tests.soak.conditions import AGENT, Conditions, environment, recorded_runs, ship
from tests.support.bar import Row, at_most, told

_PROCESSES, _AT_ONCE = 10_000, 50

PROGRAM = f"""{AGENT}
import sys
assert agent(int(sys.argv[1])) == int(sys.argv[1]) + 1
"""


def measure(conditions: Conditions) -> Iterator[Row]:
    """Processes that failed, and runs that did not arrive whole."""
    count = conditions.count(_PROCESSES)
    with tempfile.TemporaryDirectory() as folder, CollectorProcess() as collector:
        env = environment(Path(folder), collector.url)

        def one(number: int) -> int:
            command = [sys.executable, "-c", PROGRAM, str(number)]
            return subprocess.run(command, env=env, capture_output=True, timeout=300, check=False).returncode

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            failures = sum(code != 0 for code in pool.map(one, range(count)))
        shipped = ship(env)
        arrived = len(recorded_runs(collector))
        files = sum(1 for _ in Path(folder).rglob("*"))
    yield at_most("processes", "that failed", failures, 0, unit="", against=f"{count:,}, at most {_AT_ONCE} at once")
    yield at_most("processes", "runs that did not arrive whole", count - arrived, 0, unit="", against=f"{arrived:,}")
    yield at_most("processes", "exit code of `playhead ship`", shipped, 0, unit="", against="")
    yield told("processes", "files in the journal's folder at the end", files, unit="", against="")
