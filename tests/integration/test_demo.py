"""`playhead demo` on a collector of its own: what it shows, and that nothing is left of it."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import playhead
from playhead.demo.stage import stage
from tests.support.temporary_folder import left_over, temporary_folder


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Everything temporary of a demo goes here, so that what is left of it can be found."""
    with temporary_folder() as folder:
        yield folder


def demo(temporary: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path, "COLUMNS": "160"}
    command = [sys.executable, "-W", "error", "-c", "from playhead.cli import main; main()", "demo"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


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
