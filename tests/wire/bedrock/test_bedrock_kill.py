"""An agent on Bedrock, killed with SIGKILL while it waits for an answer, and resumed: no completed call is repeated."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from playhead.testing import (
    ChatRequest,
    MockModelServer,
    dropped_connection,
    pytest_plugin,
    sequence,
    text,
    tool_call,
    tool_calls,
    tool_result_received,
)
from playhead.testing.answers import Answer

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).with_name("bedrock_agent.py")
EFFECTS = ["look_up A1", "look_up B2"]


@contextmanager
def started(folder: Path, model: MockModelServer, **environ: str) -> Iterator["subprocess.Popen[str]"]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "OTEL_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(folder / "journal")}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
    kept |= {"BEDROCK_URL": model.url, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "NO_PROXY": "127.0.0.1"}
    kept |= {"EFFECTS": str(folder / "effects"), **environ}
    command, pipe = [sys.executable, str(PROGRAM)], subprocess.PIPE
    with subprocess.Popen(command, env=kept, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.covers("botocore", "resume")
@pytest.mark.parametrize("request_number", [2, 3])
def test_a_killed_agent_goes_on_without_repeating_a_completed_call(
    server: MockModelServer, tmp_path: Path, request_number: int
) -> None:
    looked_up = tool_calls(tool_call("look_up", {"order": "A1"}), tool_call("look_up", {"order": "B2"}))
    with started(tmp_path, server) as process:

        def kill(_: ChatRequest) -> Answer:
            process.send_signal(signal.SIGKILL)
            return dropped_connection()

        server.when(sequence(request_number), kill)
        server.when(sequence(1), looked_up)
        server.when(tool_result_received("look_up"), text("Both are late."))
        server.otherwise(text("Sorry, both are late."))
        out, errors = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, errors
    with started(tmp_path, server, PLAYHEAD_RESUME=out.strip()) as process:
        out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert out.splitlines()[1] == "Sorry, both are late."
    assert (tmp_path / "effects").read_text().splitlines() == EFFECTS
    # Of the requests, only the one that had no answer was made twice.
    bodies = [repr(request.body) for request in server.requests]
    assert len(bodies) == 4
    assert bodies[request_number - 1] == bodies[request_number]
    assert len(set(bodies)) == 3
