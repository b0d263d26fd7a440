"""An agent's process ends where a person has to approve; after the answer, a later process goes on.

Nothing is repeated."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import playhead

PROGRAM = Path(__file__).parents[2] / "support" / "programs" / "approved_agent.py"


def test_an_agent_waits_for_approval_without_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "journal"))
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PLAYHEAD_EXIT_TIMEOUT_SECONDS", "0.1")
    monkeypatch.setenv("DONE", str(tmp_path / "done"))

    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, PROGRAM], env={**os.environ, **environment},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def done() -> list[str]:
        return (tmp_path / "done").read_text(encoding="utf-8").splitlines()

    first = run()
    assert first.returncode == 75, first.stderr
    run_id = first.stdout.split()[0]
    assert done() == ["model 1", "look a", "model 3"]
    [waits] = playhead.open_promises()
    assert (waits["name"], waits["details"]) == ("delete", {"path": "a"})
    playhead.approve(waits["id"])
    second = run(RUN=run_id)
    assert second.returncode == 75, second.stderr
    assert done()[3:] == ["delete a"]
    [waits] = playhead.open_promises()
    playhead.deny(waits["id"], reason="keep it", by="ann")
    third = run(RUN=run_id)
    assert third.returncode == 0, third.stderr
    assert done()[4:] == ["model 6"]
    last = third.stdout.splitlines()[-1]
    assert last.startswith("a file, deleted, Denied: ann has denied 'run delete': keep it")
