"""The shipper where processes begin and end: forks, short programs, exit."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from playhead.journal.lane import lanes
from tests.integration.export.fake_collector import HANG_SECONDS, FakeCollector, closed_port
from tests.integration.export.test_orphans import ship

BEGIN = """
import atexit, os, sys
from pathlib import Path
from playhead.export.ship import Shipper
from playhead.journal.lane import LaneWriter
from playhead.settings.sdk import Settings
from tests.unit.export.records import WHO, span

folder, url = Path(sys.argv[1]), sys.argv[2]
def new_lane():
    return LaneWriter(folder, fsync=False, resource_frame=WHO)
lane = new_lane()
shipper = Shipper(Settings(endpoint=url, journal_dir=folder, linger_seconds=float(sys.argv[3])), lane.path)
def append(number):
    lane.append(span(number))
    shipper.wake()
    shipper.start()
"""

FORK = """
append(1)
if WAIT:
    assert shipper.flush(60)
pid = os.fork()
if pid == 0:
    assert shipper.flush(0)  # nothing of the child's own yet
    lane.forget_after_fork()
    lane = new_lane()
    shipper.restart_after_fork(lane.path)
    append(2)
    os._exit(0 if shipper.flush(60) and shipper.counters.spans == 1 else 1)
append(3)
assert shipper.flush(60)
assert os.waitpid(pid, 0)[1] == 0
append(4)
assert shipper.flush(60)
"""


# What fails at exit is written to stderr, with a traceback.
EXIT = """
import time

@atexit.register
def stop():
    began = time.monotonic()
    shipper.stop(50)
    assert time.monotonic() - began < 40

append(1)
"""


def run(program: str, folder: Path, url: str, linger: str = "0") -> float:
    """Seconds that it took."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(folder), url, linger],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return time.monotonic() - began


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("wait", [True, False], ids=["at rest", "at work"])
def test_a_forked_child_ships_its_own_lane_and_the_parent_goes_on(tmp_path: Path, collector: FakeCollector, wait: bool):
    run(FORK.replace("WAIT", str(wait)), tmp_path, collector.url)
    assert sorted(collector.span_names()) == ["step 1", "step 2", "step 3", "step 4"]


def test_a_short_program_delivers_at_exit(tmp_path: Path, collector: FakeCollector):
    run("atexit.register(shipper.stop, 60); append(1)", tmp_path, collector.url, linger="50")
    assert collector.span_names() == ["step 1"]


def test_exit_is_not_held_up_by_a_collector_that_is_not_there(tmp_path: Path):
    with closed_port() as port:
        run(EXIT, tmp_path, f"http://127.0.0.1:{port}")
    assert len(lanes(tmp_path)) == 1


def test_exit_is_held_up_no_longer_than_it_was_told_by_a_collector_that_hangs(tmp_path: Path, collector: FakeCollector):
    import threading

    collector.hang = threading.Event()
    assert run("atexit.register(shipper.stop, 0.3); append(1)", tmp_path, collector.url) < HANG_SECONDS / 2
    collector.hang.set()
    assert ship(tmp_path, collector.url).spans == 1


def test_no_program_pays_for_protobuf_at_its_start(tmp_path: Path):
    run("assert not [m for m in sys.modules if m.startswith(('opentelemetry.proto', 'google'))]", tmp_path, "http://x")
