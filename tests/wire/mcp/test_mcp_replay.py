"""An agent with tools of an MCP server, killed with SIGKILL and resumed: no completed call is repeated."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.journal_reader import read_journal

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).with_name("mcp_agent.py")


def run(folder: Path, model: MockModelServer, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(folder / "journal")}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
    kept |= {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    kept |= {"EFFECTS": str(folder / "effects"), **environ}
    command = [sys.executable, str(PROGRAM)]
    return subprocess.run(command, env=kept, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.covers("mcp", "resume")
def test_a_killed_agent_goes_on_without_repeating_a_completed_call(server: MockModelServer, tmp_path: Path) -> None:
    server.otherwise(text("nice"))
    killed = run(tmp_path, server, DIE_AT="2")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    effects = tmp_path / "effects"
    assert effects.read_text().split("\n")[:-1] == ["forecast Rome 2", "forecast Oslo 2"]
    assert len(server.requests) == 1
    run_id = killed.stdout.strip()

    resumed = run(tmp_path, server, PLAYHEAD_RESUME=run_id)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.splitlines()[0] == run_id
    cities = ("Rome", "Oslo", "Lima")
    assert json.loads(resumed.stdout.splitlines()[1]) == [said for c in cities for said in (f"sunny in {c}", "nice")]
    assert effects.read_text().split("\n")[:-1] == ["forecast Rome 2", "forecast Oslo 2", "forecast Lima 2"]
    assert len(server.requests) == 3

    seen = read_journal(tmp_path / "journal")
    assert {span.attributes[names.RUN_ID] for span in (*seen.spans, *seen.announced)} == {run_id}
    inside = seen.calls("look_outside")
    assert [span.attributes[names.RUN_ATTEMPT] for span in inside] == [0, 0, 1]
