"""J5: what 10,000 short-lived processes leave in the journal's folder costs the next program.

CPU time, the least of several starts, with and without what they left in turn: the machine may be shared.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.sdk.sink import Sink
from playhead.export.shipment import end_of
from playhead.journal.frame import RESOURCE, SPAN, frame
from playhead.journal.lane import LaneReader, LaneWriter
from playhead.model import names
from tests.support.bar import Row, at_most, told

_LANES, _ROUNDS = 10_000, 15
_PROGRAM = """
import json, time
import playhead
@playhead.observe
def step(x): return x
begun = time.thread_time()
step(1)
first = time.thread_time() - begun
playhead.shutdown()
print(json.dumps([first * 1e3, time.process_time() * 1e3]))
"""


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, Sink() as sink:
        beside = Path(folder, "beside")
        for number in range(_LANES):
            _leave(beside, number)
        rounds = [(_run(Path(folder, f"alone-{n}"), sink.url), _run(beside, sink.url)) for n in range(_ROUNDS)]
    for at, what in enumerate(("first observed call, on its thread", "whole program, with all its threads")):
        alone, with_lanes = (min(each[which][at] for each in rounds) for which in (0, 1))
        name = f"CPU of the {what}, beside {_LANES:,} processes' files ÷ alone"
        against = f"{with_lanes:.2f} ms ÷ {alone:.2f} ms; half of the files are delivered"
        if at:
            yield told("J5", name, with_lanes / alone, unit="x", against=against)
        else:
            yield at_most("J5", name, with_lanes / alone, 1.2, unit="x", against=against)


def _leave(journal: Path, number: int) -> None:
    lane = LaneWriter(journal, fsync=False, resource_frame=frame(RESOURCE, b"{}"))
    attributes = {names.RUN_ID: f"{number:032x}", names.RUN_ROOT: True}
    fields = [f"{number:032x}", f"{number:016x}", None, "r", 1, 1, 2, 0, "", attributes, [], []]
    lane.append(frame(SPAN, json.dumps(fields, separators=(",", ":")).encode()))
    lane.close()
    if number % 2:
        reader = LaneReader(lane.path)
        reader.ack(end_of(reader))


def _run(journal: Path, url: str) -> tuple[float, float]:
    """CPU in ms of the first observed call, and of the whole program."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"PLAYHEAD_ENDPOINT": url, "PLAYHEAD_JOURNAL_DIR": str(journal)}
    done = subprocess.run([sys.executable, "-c", _PROGRAM], env=environ, capture_output=True, check=True)
    first, whole = json.loads(done.stdout)
    return first, whole
