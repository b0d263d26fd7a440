"""The first observed call sets recording up.  What comes in its way then costs the program nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead import recording as recording_module
from tests.support.journal_reader import Recording, read_journal

_root: Any = import_module("playhead.configuring")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="limits on descriptors are POSIX's")


@observe(kind="tool")
def tool(x: int) -> int:
    return x


class Late(Exception):
    """A time limit."""


@pytest.fixture
def time_limit() -> Iterator[Callable[..., None]]:
    """Called, it is over: a signal's handler raises Late."""

    def handler(number: int, frame: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGUSR1, handler)
    yield lambda *_, **__: signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def test_a_time_limit_while_recording_starts_reaches_the_program_and_does_not_end_recording(
    recording: Recording, time_limit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    playhead.shutdown()
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(recording.folder))
    with monkeypatch.context() as patched:
        patched.setattr(_root, "load_for_recording", time_limit)
        with pytest.raises(Late):
            tool(1)
    assert tool(2) == 2
    assert recording.read().output("tool") == 2


@pytest.mark.parametrize("what", [playhead.flush, playhead.shutdown])
def test_a_time_limit_while_all_is_written_reaches_the_program(
    recording: Recording, time_limit: Callable[..., None], monkeypatch: pytest.MonkeyPatch, what: Callable[[], bool]
):
    tool(1)
    with monkeypatch.context() as patched:
        patched.setattr(recording_module.Recording, "write", time_limit)
        with pytest.raises(Late):
            what()


CALLS = """
assert [tool(n) for n in range(5)] == list(range(5))
short = playhead.flush(0)
{mended}
playhead.recording.RecordingProcess.next_start = 0
assert tool(5) == 5
print(short, playhead.counters()["records_lost"])
"""
BEGIN = """
import resource, sys
import playhead
from playhead import observe

@observe(kind="tool")
def tool(x): return x
"""
WITHOUT_DESCRIPTORS = """
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError:
    pass
"""
FAILING_START = """
start = sys.modules["playhead.configuring"].start

def short_of_descriptors(settings):
    raise OSError(24, "Too many open files")

sys.modules["playhead.configuring"].start = short_of_descriptors
"""


def run_short_of(trouble: str, mended: str, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    environ = {
        **kept,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PLAYHEAD_JOURNAL_DIR": str(folder),
        "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9",
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1",
    }
    program = BEGIN + trouble + CALLS.format(mended=mended)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@needs_posix
def test_descriptors_that_are_short_when_recording_starts_lose_nothing_once_there_are_some(tmp_path: Path):
    done = run_short_of(WITHOUT_DESCRIPTORS, "for file in files: file.close()", tmp_path)
    short, lost = done.stdout.split()
    assert short == "False"
    assert len(read_journal(tmp_path).spans) + int(lost) == 6
    assert "waits in memory" in done.stderr


def test_a_start_that_fails_for_want_of_descriptors_is_tried_again_and_what_was_missed_counted(tmp_path: Path):
    done = run_short_of(FAILING_START, 'sys.modules["playhead.configuring"].start = start', tmp_path)
    assert done.stdout.split() == ["False", "5"]
    assert "nothing is recorded yet" in done.stderr
    assert len(read_journal(tmp_path).spans) == 1
    assert read_journal(tmp_path).output("tool") == 5


IMPORTER = """
import sys, threading
from playhead import observe

class Finder:
    threads = []
    def find_spec(self, name, path=None, target=None):
        if name == "httpx":
            self.threads.append(threading.current_thread().name)

sys.meta_path.insert(0, Finder())

@observe
def ask(): return "httpx" in sys.modules and hasattr(sys.modules["httpx"], "Client")

print(ask(), *Finder.threads)
"""


def test_httpx_is_imported_before_the_first_call_runs_and_by_its_thread(tmp_path: Path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(tmp_path)}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0"}
    done = subprocess.run([sys.executable, "-c", IMPORTER], env=kept, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "MainThread"]
