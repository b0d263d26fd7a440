"""A tool of a real MCP server over stdio, called by an agent of OpenAI Agents: one call, and one on resume."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

import playhead
from playhead.testing import MockModelServer, pytest_plugin
from tests.support.journal_reader import Recording, start_recording
from tests.support.programs.framework_runs import assert_mcp_tool_is_one_call, mcp_environ

server = pytest_plugin.mock_model_server
set_tracing_disabled(True)
SERVER = Path(__file__).parents[2] / "mcp/weather_server.py"


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "agents", "mcp")
        yield recording
        playhead.uninstrument()


async def ask(server: MockModelServer, folder: Path) -> str:
    params = {"command": sys.executable, "args": [str(SERVER), "stdio"], "env": mcp_environ(folder)}
    async with (
        MCPServerStdio(params, client_session_timeout_seconds=60) as tools,  # pyright: ignore[reportArgumentType]
        AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        model = OpenAIChatCompletionsModel("gpt-4o-mini", client)
        done = await Runner.run(Agent("clerk", model=model, mcp_servers=[tools]), "How is Paris?")
    return str(done.final_output)


@pytest.mark.covers("agents", "tools", "resume")
async def test_a_tool_of_an_mcp_server_is_one_call(recording: Recording, server: MockModelServer, tmp_path: Path):
    await assert_mcp_tool_is_one_call(ask, recording, server, tmp_path)
