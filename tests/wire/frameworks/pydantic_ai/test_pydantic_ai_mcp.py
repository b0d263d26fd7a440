"""A tool of a real MCP server over stdio, called by an agent of pydantic-ai: one call, and none on resume."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastmcp.client.transports.stdio import StdioTransport
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import playhead
from playhead.testing import MockModelServer, pytest_plugin
from tests.support.journal_reader import Recording, start_recording
from tests.support.programs.framework_runs import assert_mcp_tool_is_one_call, mcp_environ

pytestmark = pytest.mark.slow
server = pytest_plugin.mock_model_server
SERVER = str(Path(__file__).parents[2] / "mcp/weather_server.py")


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "pydantic_ai", "mcp")
        yield recording
        playhead.uninstrument()


async def ask(server: MockModelServer, folder: Path) -> str:
    transport = StdioTransport(sys.executable, [SERVER, "stdio"], env=mcp_environ(folder))
    async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, name="clerk", toolsets=[MCPToolset(transport, init_timeout=60)])
        async with agent:
            return (await agent.run("How is Paris?")).output


@pytest.mark.covers("pydantic_ai", "tools", "resume")
async def test_a_tool_of_an_mcp_server_is_one_call(recording: Recording, server: MockModelServer, tmp_path: Path):
    await assert_mcp_tool_is_one_call(ask, recording, server, tmp_path)
