"""A tool of a real MCP server over stdio, called by an agent of pydantic-ai: one call, and none on resume."""

import os
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
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.journal_reader import Recording, kind, start_recording

pytestmark = pytest.mark.slow
server = pytest_plugin.mock_model_server
SERVER = str(Path(__file__).parents[2] / "mcp/weather_server.py")


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "pydantic_ai", "mcp")
        yield recording
        playhead.uninstrument()


def environ(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "EFFECTS": str(folder / "effects")}


async def ask(server: MockModelServer, folder: Path) -> str:
    transport = StdioTransport(sys.executable, [SERVER, "stdio"], env=environ(folder))
    async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, name="clerk", toolsets=[MCPToolset(transport)])
        async with agent:
            return (await agent.run("How is Paris?")).output


@pytest.mark.covers("pydantic_ai", "tools", "resume")
async def test_a_tool_of_an_mcp_server_is_one_call(recording: Recording, server: MockModelServer, tmp_path: Path):
    server.when(~tool_result_received("forecast"), tool_call("forecast", {"city": "Paris"}))
    server.otherwise(text("It is sunny."))
    with playhead.run("r") as run:
        assert await ask(server, tmp_path) == "It is sunny."
    seen = recording.read()
    [called] = [span for span in seen.spans if kind(span) == "tool"]
    assert called.attributes[names.TOOL_NAME] == "forecast"
    assert called.attributes[names.MCP_SERVER] == "weather"
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"city": "Paris"}
    assert "sunny in Paris" in str(seen.value(called, names.TOOL_RESULT_REF))
    asked = next(span for span in seen.spans if kind(span) == "llm")
    [message] = seen.messages(asked.attributes[names.OUTPUT_MESSAGES_REF])
    assert called.attributes[names.TOOL_CALL_ID] == message["parts"][0]["id"]
    requests = len(server.requests)
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert await ask(server, tmp_path) == "It is sunny."
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert (tmp_path / "effects").read_text() == "forecast Paris 1\n"
