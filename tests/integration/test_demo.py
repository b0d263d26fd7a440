"""`playhead demo` on a collector of its own: what it shows, and that nothing is left of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import playhead
from playhead.demo.stage import stage

RUNS = Path(__file__).parents[1] / "fixtures" / "trajectories"


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Everything temporary of a demo goes here, so that what is left of it can be found."""
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="playhead-tests-"))
    folder.chmod(0o711)  # as /tmp itself: as root, Postgres runs as an account that has to pass
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def demo(temporary: Path, *options: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path, "COLUMNS": "160"}
    command = [sys.executable, "-W", "error", "-c", "from playhead.cli import main; main()", "demo", *options]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def left_over(temporary: Path) -> list[str]:
    """Files and processes."""
    processes = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    return [*(line for line in processes if str(temporary) in line), *map(str, temporary.iterdir())]


@pytest.mark.slow
def test_the_demo_shows_what_an_agent_did_and_leaves_nothing_behind(temporary: Path) -> None:
    done = demo(temporary)
    assert done.returncode == 0, done.stderr
    assert left_over(temporary) == []
    for words in (
        "/api/v1/runs/",
        "tool_failed",
        "ValueError: at most 89.00 can be refunded",
        "error: at most 89.00 can be refunded",
        "look_up_order(order='A1001')  track_parcel(order='A1001')",
        "run_completed",
        "inline: ",
        "sent: ",
        "stored: ",
        "?at=20",
    ):
        assert words in done.stdout


@pytest.mark.slow
def test_contexts_of_recorded_runs_come_back_as_they_were_and_what_cannot_be_played_is_named(temporary: Path) -> None:
    runs = temporary / "runs"
    shutil.copytree(RUNS, runs)
    answer = {"role": "assistant", "content": "Hello."}
    greeting = [{"role": "assistant", "content": "How can I help?"}, {"role": "user", "content": "Hi."}, answer]
    (runs / "a.json").write_text(json.dumps([{"traj": greeting}, {"traj": [{"content": "no role"}]}]))
    (runs / "b.json").write_text(json.dumps([{"role": "user", "content": "Hi."}, answer]))
    done = demo(temporary, "--trajectories", str(runs), "--json")
    assert done.returncode == 1
    assert "1 runs could not be played" in done.stderr
    assert "a.json" in done.stderr
    said = json.loads(done.stdout)
    assert (said["runs"], said["not_played"], said["llm_calls"], said["tool_calls"]) == (7, 1, 12, 3)
    assert (said["contexts_checked"], said["contexts_equal"]) == (12, 12)
    assert min(said[name] for name in ("inline_bytes", "wire_bytes", "content_bytes", "database_bytes", "seconds")) > 0
    shutil.rmtree(runs)
    assert left_over(temporary) == []


def test_a_folder_without_recorded_runs_is_told_before_anything_is_started(temporary: Path) -> None:
    (temporary / "runs").mkdir()
    done = demo(temporary, "--trajectories", str(temporary / "runs"))
    assert done.returncode == 2
    assert "has no recorded runs" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_leaves_nothing_behind(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(KeyboardInterrupt), stage():  # noqa: PT012 - what is up is looked at before it ends
        assert left_over(temporary) != []
        signal.raise_signal(number)
    assert left_over(temporary) == []
    assert playhead.counters() == {}
