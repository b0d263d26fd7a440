"""1,000,000 observed calls in one process: its memory does not grow, and every record is delivered or counted."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from playhead_collector.process import CollectorProcess
from tests.soak.conditions import Conditions, environment, run_program
from tests.support.bar import Row, at_most, told

_CALLS = 1_000_000

# A call every 250 us or so: what a collector on the same two cores can take for good. Memory is that of the process.
PROGRAM = """
import json, sys, time
import psutil
import playhead
from playhead import observe

@observe(kind="tool")
def add(a, b):
    return a + b

count, pace = int(sys.argv[1]), float(sys.argv[2])
process, sizes, due = psutil.Process(), [], time.perf_counter()
with playhead.run("soak"):
    for number in range(count):
        add(number, 1)
        due += pace
        if number % 1000 == 0:
            if number % (count // 20 or 1) < 1000:
                sizes.append(process.memory_info().rss)
            if (rest := due - time.perf_counter()) > 0:
                time.sleep(rest)
whole = playhead.flush(timeout=600)
print(json.dumps({"sizes": sizes, "flushed": bool(whole), "counters": playhead.counters()}, default=str))
"""


def measure(conditions: Conditions) -> Iterator[Row]:
    """Memory after a tenth of the calls against the end; records lost."""
    count = conditions.count(_CALLS)
    with tempfile.TemporaryDirectory() as folder, CollectorProcess() as collector:
        env = environment(Path(folder), collector.url)
        done = run_program(PROGRAM, env, str(count), "0.0005", seconds=7200)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        said = orjson.loads(done.stdout)
    sizes, counters = said["sizes"], said["counters"]
    early = max(sizes[: len(sizes) // 5 or 1])
    yield at_most("calls", "growth of memory", (max(sizes) - early) / 1e6, 20, unit="MB", against=f"{count:,} calls")
    lost = counters.get("records_lost", 0)
    yield at_most("calls", "records lost", lost, 0, unit="", against=f"flush() said {said['flushed']}")
    yield told("calls", "memory at the end", sizes[-1] / 1e6, unit="MB", against="")
