"""A program with Claude Code, killed inside a tool of its own: resumed, it stops there until it is told what to do.

Claude Code itself is another process, which asks the model once more when the program has gone.
"""

import signal
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.programs.framework_runs import Agent

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parent / "programs/claude_agent.py"
REFUND = "mcp__shop__refund"


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "resume")
def test_a_tool_that_was_cut_off_is_in_doubt(server: MockModelServer, tmp_path: Path):
    server.when(~tool_result_received(REFUND), tool_call(REFUND, {"order": "A1"}))
    server.otherwise(text("A1 is refunded."))
    agent = Agent(PROGRAM, "plain", tmp_path, server)
    code, _, errors = agent.run(DIE_INSIDE="1")
    assert code == -signal.SIGKILL, errors
    assert agent.effects() == ["refund A1"]
    code, _, errors = agent.resume()
    assert (code, agent.effects()) == (1, ["refund A1"]), errors
    assert "InDoubt" in errors
    assert "had begun when the process died" in errors
    code, answer, errors = agent.resume(in_doubt="rerun")
    assert (code, answer) == (0, "A1 is refunded."), errors
    assert agent.effects() == ["refund A1", "refund A1"]
