"""Without a collector, a run is lost when the kernel says that its process is gone."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson

PROGRAM = """
import os, signal, sys
from playhead import observe

@observe
def agent():
    step()
    if "killed" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    print("ready", flush=True)
    sys.stdin.readline()

@observe
def step(): ...

agent()
"""


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PLAYHEAD_JOURNAL_DIR": str(tmp_path),
        "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9",  # nothing listens there
    }


def runs(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "playhead", "runs", "--local", "--json", *options]
    done = subprocess.run(command, env=environment(tmp_path), check=True, capture_output=True)
    answer = orjson.loads(done.stdout)
    return answer["items"] if isinstance(answer, dict) else answer


def record_of(tmp_path: Path, run: str) -> str:
    """What `playhead show` says of the run's record."""
    command = [sys.executable, "-m", "playhead", "show", run, "--local"]
    done = subprocess.run(command, env=environment(tmp_path), check=True, capture_output=True, text=True)
    return next(line.split("\t")[1] for line in done.stdout.splitlines() if line.startswith("record\t"))


def test_the_run_of_a_killed_process_is_lost_and_that_of_a_living_one_is_running(tmp_path: Path):
    program = [sys.executable, "-c", PROGRAM]
    killed = subprocess.run([*program, "killed"], env=environment(tmp_path), check=False)
    assert killed.returncode == -signal.SIGKILL
    alive = subprocess.Popen(
        program, env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with alive:
        assert alive.stdout is not None
        assert alive.stdout.readline() == "ready\n"
        [lost], [running] = runs(tmp_path, "--status", "lost"), runs(tmp_path, "--status", "running")
        assert lost["last_record"] is not None
        assert lost["ended"] is None
        assert running["last_record"] is None
        assert record_of(tmp_path, lost["run"]) == "no end recorded"
        assert record_of(tmp_path, running["run"]) == "complete"
        assert len(runs(tmp_path)) == 2
        alive.communicate("\n")
    assert [run["status"] for run in runs(tmp_path)] == ["completed", "lost"]
