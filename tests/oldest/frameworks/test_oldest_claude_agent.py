"""The oldest supported Claude Agent SDK, with mcp 1: the tests of the newest one that its first users would miss."""

from pathlib import Path

import pytest

from playhead.testing import MockModelServer
from tests.frameworks import test_claude_agent as newest
from tests.frameworks import test_claude_agent_killed as killed
from tests.support.journal_reader import Recording

server, recording = newest.server, newest.recording


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "oldest")
async def test_agent_model_calls_and_tools_are_recorded(recording: Recording, server: MockModelServer, tmp_path: Path):
    await newest.test_agent_model_calls_and_tools_are_recorded(recording, server, tmp_path)


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "oldest")
async def test_tools_of_the_program_are_answered_from_the_record(
    recording: Recording, server: MockModelServer, tmp_path: Path
):
    await newest.test_tools_of_the_program_are_answered_from_the_record(server, tmp_path)


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "oldest")
def test_a_tool_that_was_cut_off_is_in_doubt(server: MockModelServer, tmp_path: Path):
    killed.test_a_tool_that_was_cut_off_is_in_doubt(server, tmp_path)
