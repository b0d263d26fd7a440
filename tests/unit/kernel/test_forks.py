"""What a forked child, and the end of the program, find of locks and imports of other threads."""

import builtins
import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead.calls.run import ActiveRun
from playhead.kernel import forks
from playhead.kernel.forks import ForkSafeLock, delay_forks
from playhead.replaying.matching import Matcher

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_a_lock_that_another_thread_holds_is_free_in_the_child_only():
    lock, taken, done = ForkSafeLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if lock.acquire(timeout=0) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert not lock.acquire(timeout=0)
    done.set()
    thread.join()
    assert lock.acquire(timeout=0)


def of_a_run() -> tuple[Any, Callable[[], object]]:
    run = ActiveRun()
    return lambda: run._mutex, run.next_start


def of_a_matcher() -> tuple[Any, Callable[[], object]]:
    matcher = Matcher(())
    return lambda: matcher._changed, lambda: None


@pytest.mark.parametrize("of", [of_a_run, of_a_matcher])
def test_locks_of_runs_that_another_thread_holds_are_free_in_the_child(of: Callable[[], Any]):
    (lock, use), taken, done = of(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock():
            taken.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)
    pid = os.fork()
    if pid == 0:
        is_free = lock().acquire(timeout=0)
        use()
        os._exit(0 if is_free else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert not lock().acquire(timeout=0)
    done.set()
    thread.join()


def test_a_fork_waits_for_an_import_of_another_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forks, "_MAX_SECONDS", 60.0)  # however long the machine stands still meanwhile
    began, went_on = threading.Event(), threading.Event()
    order: list[str] = []

    def import_something() -> None:
        with delay_forks():
            began.set()
            went_on.wait(0.2)
            order.append("imported")

    thread = threading.Thread(target=import_something)
    thread.start()
    began.wait(60)
    pid = os.fork()
    if pid == 0:
        with delay_forks():  # free in the child
            os._exit(0 if order == ["imported"] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    thread.join()


# A program's module of which an import observes something, and a library that imports that module.
OBSERVES = """
import builtins
from playhead.kernel.forks import delay_forks

builtins.began.set()
builtins.other_began.wait(60)
with delay_forks():
    pass
"""


def test_two_threads_that_wait_for_each_others_imports_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(forks, "_MAX_SECONDS", 0.2)
    monkeypatch.setattr(builtins, "began", began := threading.Event(), raising=False)
    monkeypatch.setattr(builtins, "other_began", other_began := threading.Event(), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "module_that_observes.py").write_text(OBSERVES)

    def import_for_the_first_time() -> None:
        with delay_forks():
            other_began.set()
            importlib.import_module("module_that_observes")

    program = threading.Thread(target=importlib.import_module, args=("module_that_observes",), daemon=True)
    program.start()
    assert began.wait(60)
    ours = threading.Thread(target=import_for_the_first_time, daemon=True)
    ours.start()
    for thread in (program, ours):
        thread.join(60)
    assert not program.is_alive()
    assert not ours.is_alive()
    assert forks._Imports.lock.acquire(timeout=0)
    forks._Imports.lock.release()


def test_a_thread_forks_in_the_middle_of_its_own_import():
    with delay_forks():
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0


SLOW = "import builtins, time; builtins.began.set(); time.sleep(0.5)"
# What is left of the program is deleted after daemon threads were stopped, and may import something.
ENDS = """
import builtins, threading
from playhead import observe
from playhead.kernel import forks
from playhead.kernel.forks import delay_forks

forks._MAX_SECONDS = 60.0  # however long the machine stands still meanwhile

class Left:
    def __del__(self):
        try:
            import slow
        except ImportError:  # Python is shutting down
            pass
        print("ended", flush=True)

def load():
    with delay_forks():
        import slow

left, builtins.began = Left(), threading.Event()
threading.Thread(target=load, daemon=True).start()
began.wait(60)
"""


def test_the_program_ends_after_an_import_of_another_thread(tmp_path: Path):
    """Else the lock of that import is held for ever."""
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "ends.py").write_text(ENDS)
    done = subprocess.run(
        [sys.executable, "ends.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


# What a daemon thread holds when Python stops it, it holds for ever. This one takes a lock after our own exit, so that
# only what the interpreter deletes at its very end meets it.
STOPPED = """
import atexit, builtins, sys, threading

go_on, held = threading.Event(), threading.Event()

@atexit.register          # before ours, so it runs after it
def last():
    go_on.set()
    held.wait(60)

import playhead
from playhead.recording import RecordingProcess

@playhead.observe
def close():
    sys.stderr.write("closed\\n")

@playhead.observe
def stream():
    try:
        yield 1
    finally:
        close()

class Left:
    def __del__(self):
        close()

def hold(lock):
    go_on.wait(60)
    with lock:
        held.set()
        threading.Event().wait()

builtins.left, builtins.stream = Left(), stream()
next(builtins.stream)
threading.Thread(target=hold, args=({lock},), daemon=True).start()
"""


@pytest.mark.parametrize(
    "lock",
    ["RecordingProcess.mutex", "RecordingProcess.recording.journal._mutex"],
    ids=["start", "journal"],
)
def test_the_program_ends_although_a_stopped_thread_holds_a_lock(tmp_path: Path, lock: str):
    environ = {**os.environ, "PLAYHEAD_JOURNAL_DIR": str(tmp_path), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
    environ["PLAYHEAD_ENDPOINT"] = "http://127.0.0.1:9"
    command = [sys.executable, "-c", STOPPED.replace("{lock}", lock)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr.count("closed")) == (0, 2), done.stderr


def test_the_executors_of_the_standard_library_are_imported_before_a_fork_can_wait():
    """Their module registers a lock for forks; a fork that waits for its import would release it untaken."""
    code = "import sys; from playhead import observe; sys.exit('concurrent.futures.thread' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=300, check=False).returncode == 0


def test_recording_that_is_imported_late_ends_after_what_the_program_registered_since_the_first_import():
    code = """
import atexit
from playhead.kernel import forks
atexit.register(print, "program")
forks.at_exit(lambda: print("recording"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["program", "recording"]
