"""A LangGraph agent that is killed in the middle: another process, on another machine, goes on from our checkpoints."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from playhead.client import Client
from playhead.testing import (
    ChatRequest,
    MockModelServer,
    dropped_connection,
    pytest_plugin,
    sequence,
    text,
    tool_call,
    tool_result_received,
)
from playhead.testing.answers import Answer
from playhead_collector.process import CollectorProcess
from tests.support.programs.processes import started

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).with_name("langgraph_killed.py")
ANSWER = "A1 is refunded."


@pytest.mark.parametrize("asked", [2, 3])
def test_another_process_goes_on_and_both_runs_are_of_one_session(
    server: MockModelServer, collector: CollectorProcess, tmp_path: Path, asked: int
):
    name, effects = f"thread-{uuid.uuid4().hex[:12]}", tmp_path / "effects"

    def process(what: str, machine: str):
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "OTEL_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "PLAYHEAD_JOURNAL_DIR": str(tmp_path / machine)}
        kept |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}
        return started(PROGRAM, [what], kept | {"EFFECTS": str(effects), "THREAD": name})

    with process("ask", "one") as first:

        def kill(_: ChatRequest) -> Answer:
            first.send_signal(signal.SIGKILL)
            return dropped_connection()

        server.when(sequence(asked), kill)
        server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.when(~tool_result_received("refund"), tool_call("refund", {"order": "A1", "amount": 5}))
        server.otherwise(text(ANSWER))
        ended = first.wait()
    assert ended.code == -signal.SIGKILL, ended.errors
    done = ["look_up A1", "refund A1"][: asked - 1]
    assert effects.read_text().splitlines() == done

    with process("go_on", "two") as second:
        ended = second.wait()
    assert (ended.code, ended.out.strip()) == (0, ANSWER), ended.errors
    assert effects.read_text().splitlines() == ["look_up A1", "refund A1"]  # none twice
    assert len(server.requests) == 4  # three answers, and the one that was asked when it was killed

    ship = [sys.executable, "-m", "playhead", "ship", "--journal-dir", str(tmp_path / "one")]
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    subprocess.run(ship, env=environ, check=True, capture_output=True)  # what the killed process could not deliver
    with Client(collector.url) as client:
        runs = [*client.runs(session=name)]
        last, killed = runs
        assert (last["status"], last["name"]) == ("completed", "refunds")
        assert killed["status"] in ("running", "lost")
        assert {tool for run in runs for tool in run["tools"]} == {"look_up", "refund"}
        contexts = [[message["role"] for message in client.context(run["run"])["messages"]] for run in (killed, last)]
        assert contexts[0] == ["user", "assistant", "tool", "assistant", "tool"][: 2 * asked - 1]
        assert contexts[1] == ["user", "assistant", "tool", "assistant", "tool"]
