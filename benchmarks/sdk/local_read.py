"""J4: how long a command takes to read one run of a journal with many, from the start of its process.

CPU time, the least of several starts: the command waits for nothing but its files, and the machine may be shared.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playhead.journal.index import database
from playhead_collector.store.ports.spans import Batch
from tests.support.bar import Row, at_most, told
from tests.support.made_up_runs import MadeUpRun
from tests.support.readers.journaled import write_journal

# As a collector counts them: a model call, its end, the two messages that it added, a tool call and its end.
_EVENTS, _EVENTS_PER_STEP = 5_000, 6
_OTHERS, _OTHER_STEPS = 1_000, 10
_ROUNDS = 10
_RUN = "be" * 16
_COMMAND = (sys.executable, "-m", "playhead", "events", _RUN, "--local")


def measure() -> Iterator[Row]:
    for what, at_a_time in (("one process's", _OTHERS), ("of a process each", 1)):
        with tempfile.TemporaryDirectory() as folder:
            journal = Path(folder, "journal")
            size = _fill(journal, at_a_time)
            first = _cpu_ms(journal)
            value = min(_cpu_ms(journal) for _ in range(_ROUNDS))
            index = database.path_of(journal).stat().st_size
        against = f"{_OTHERS:,} other runs, {what}, {size / 2**20:.0f} MiB; the index has {index / 2**20:.1f}"
        name = f"CPU of `events RUN --local`, {_EVENTS:,} events"
        yield at_most("J4", name, value, 300, unit="ms", against=against)
        yield told("J4", "the same, when nothing was read before", first, unit="ms", against=against)


def _fill(journal: Path, at_a_time: int) -> int:
    others = [MadeUpRun(_OTHER_STEPS) for _ in range(_OTHERS)]
    groups = [others[at : at + at_a_time] for at in range(0, _OTHERS, at_a_time)]
    groups[len(groups) // 2].append(MadeUpRun(_EVENTS // _EVENTS_PER_STEP, run=_RUN))
    for runs in groups:
        write_journal(journal, (Batch(run.spans, [], list(run.contents.values()), run.threads) for run in runs))
    time.sleep(3)  # what has just been written may still change within the same tick of the file system's clock
    return sum(path.stat().st_size for path in journal.glob("*/*.segment"))


def _cpu_ms(journal: Path) -> float:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(_COMMAND, check=True, capture_output=True, env={**environ, "PLAYHEAD_JOURNAL_DIR": str(journal)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
