"""Whatever the objects of an agent framework raise when recording looks into them, stays in recording."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("hostile_frameworks.py")


@pytest.mark.parametrize("framework", ["langchain", "langgraph", "openai_agents", "pydantic_ai", "openai"])
def test_what_recording_asks_and_is_answered_with_an_exit_does_not_end_the_program(framework: str, tmp_path: Path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PLAYHEAD_JOURNAL_DIR": str(tmp_path / "journal"), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "OPENAI_API_KEY": "none"}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), framework], env=kept, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "2 True\n"), done.stderr
