"""Clocks that jump, by `faketime` (Debian's package): a program's, a day back and forth, while it is recorded."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playhead_collector.process import CollectorProcess
from tests.soak.conditions import AGENT, Conditions, environment, recorded_runs, run_program
from tests.support.bar import Row, at_most, not_measured

# Each line of the file is the clock from then on; the library reads it again at each call of the clock.
PROGRAM = f"""{AGENT}
import os, sys
from pathlib import Path
import playhead

clock = Path(os.environ["FAKETIME_TIMESTAMP_FILE"])
for number, offset in enumerate(["+0", "-1d", "+1d", "-30d", "+365d", "+0"] * int(sys.argv[1])):
    clock.write_text(offset)
    assert agent(number) == number + 1
assert playhead.flush(timeout=60)
"""
_ROUNDS = 50


def measure(conditions: Conditions) -> Iterator[Row]:
    """Runs that did not arrive whole."""
    library = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)
    if shutil.which("faketime") is None or library is None:
        yield not_measured(
            "clock", "jumps of a program's clock", "faketime is not installed (apt-get install faketime)"
        )
        return
    rounds = conditions.count(_ROUNDS)
    with tempfile.TemporaryDirectory() as folder, CollectorProcess() as collector:
        clock = Path(folder, "clock")
        clock.write_text("+0")
        env = environment(Path(folder, "journal"), collector.url)
        # Steady clocks stay: what jumps on a machine is the time of day.
        env |= {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
        env |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        done = run_program(PROGRAM, env, str(rounds))
        arrived = len(recorded_runs(collector))
    yield at_most("clock", "exit code of the program", done.returncode, 0, unit="", against=done.stderr[-300:])
    wanted = 6 * rounds
    yield at_most("clock", "runs that did not arrive whole", wanted - arrived, 0, unit="", against=f"{wanted} runs")
