"""`python -m benchmarks.recorded_runs`: recorded runs go to a collector and come back, and nothing is left over."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.temporary_folder import left_over, temporary_folder

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "tests" / "fixtures" / "trajectories"


@pytest.fixture
def temporary() -> Iterator[Path]:
    with temporary_folder() as folder:
        yield folder


def recorded_runs(temporary: Path, *options: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path, "COLUMNS": "160"}
    command = [sys.executable, "-W", "error", "-m", "benchmarks.recorded_runs", "--trajectories", *options]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_contexts_of_recorded_runs_come_back_as_they_were_and_what_cannot_be_played_is_named(temporary: Path) -> None:
    runs = temporary / "runs"
    shutil.copytree(RUNS, runs)
    answer = {"role": "assistant", "content": "Hello."}
    greeting = [{"role": "assistant", "content": "How can I help?"}, {"role": "user", "content": "Hi."}, answer]
    (runs / "a.json").write_text(json.dumps([{"traj": greeting}, {"traj": [{"content": "no role"}]}]))
    (runs / "b.json").write_text(json.dumps([{"role": "user", "content": "Hi."}, answer]))
    done = recorded_runs(temporary, str(runs), "--json")
    assert done.returncode == 1
    assert "1 runs could not be played" in done.stderr
    assert "a.json" in done.stderr
    figures = json.loads(done.stdout)
    assert [figures[name] for name in ("runs", "not_played", "llm_calls", "tool_calls")] == [7, 1, 12, 3]
    assert (figures["contexts_checked"], figures["contexts_equal"]) == (12, 12)
    sizes = ("inline_bytes", "wire_bytes", "content_bytes", "database_bytes", "seconds")
    assert min(figures[name] for name in sizes) > 0
    shutil.rmtree(runs)
    assert left_over(temporary) == []


def test_a_folder_without_recorded_runs_is_told_before_anything_is_started(temporary: Path) -> None:
    (temporary / "runs").mkdir()
    done = recorded_runs(temporary, str(temporary / "runs"))
    assert done.returncode == 2
    assert "has no recorded runs" in done.stderr
    assert "Traceback" not in done.stderr
