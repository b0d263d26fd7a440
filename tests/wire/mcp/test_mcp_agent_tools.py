"""Tools of an MCP server as tools of `playhead.Agent`: told to the model, called once in the record, errors and all."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

import playhead
from playhead.models import MockModel, ModelRequest, ModelResponse, mock_answer
from playhead.testing import RunRecorder

server = MCPServer("weather", log_level="CRITICAL")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def forecast(city: str, days: int = 1) -> str:
    """Tells the weather."""
    return f"sun in {city} for {days} days"


@server.tool()
async def broken() -> str:
    """Fails."""
    raise ValueError("no barometer")


@pytest.fixture(params=[True, False], ids=["instrumented", "bare"])
def instrumented(request: pytest.FixtureRequest) -> Iterator[bool]:
    if request.param:
        playhead.instrument("mcp")
    yield request.param
    playhead.uninstrument()


def test_an_agent_uses_the_tools_of_a_server(instrumented: bool, playhead_recorder: RunRecorder):
    def answer(request: ModelRequest) -> ModelResponse:
        if request.messages[-1]["role"] == "tool":
            return mock_answer("Sun.")
        return mock_answer(calls=[("c1", "mcp_forecast", {"city": "Rome", "days": 2}), ("c2", "mcp_broken", {})])

    model = MockModel(answer)

    async def main() -> Any:
        async with Client(server) as client:
            tools = await playhead.mcp_tools(client.session, prefix="mcp_")
            assert [(tool.name, tool.writes) for tool in tools] == [("mcp_forecast", False), ("mcp_broken", True)]
            return await playhead.Agent(model=model, tools=tools).run("How is Rome?")

    out = asyncio.run(main())
    assert out.tool_calls[0].result == "sun in Rome for 2 days"
    assert out.tool_calls[1].is_error
    assert "Error executing tool broken" in out.tool_calls[1].result
    told: Any = model.requests[0].tools[0]
    assert (told.name, told.description) == ("mcp_forecast", "Tells the weather.")
    assert told.parameters["properties"]["city"]["type"] == "string"
    run = playhead_recorder.last
    assert [call.name for call in run.tool_calls] == ["mcp_forecast", "mcp_broken"]
    assert run.tool_calls[0].arguments == {"city": "Rome", "days": 2}
