"""The oldest supported `mcp`, client and server in one process."""

from typing import Any

import pytest
from mcp.server.fastmcp import FastMCP
from mcp.shared.exceptions import McpError
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult, TextContent

import playhead
from playhead.model import names
from playhead.model.span import STATUS_ERROR
from tests.support.journal_reader import Recording

executed: list[str] = []
server = FastMCP("weather", log_level="CRITICAL")


@server.tool()
async def forecast(city: str) -> str:
    executed.append(city)
    return f"sunny in {city}"


@server.tool()
async def broken() -> str:
    raise ValueError("no barometer")


@server.resource("station://{name}")
def station(name: str) -> str:
    executed.append(name)
    return f"station {name}"


@server.prompt()
def ask(city: str) -> str:
    executed.append(f"ask {city}")
    return f"How is {city}?"


async def program() -> list[Any]:
    async with create_connected_server_and_client_session(server._mcp_server) as session:
        said: list[Any] = [await session.call_tool("forecast", {"city": "Rome"})]
        said.append(await session.call_tool("broken", {}))
        said.append(await session.read_resource("station://north"))
        said.append(await session.get_prompt("ask", {"city": "Rome"}))
        try:
            await session.get_prompt("nobody")
        except McpError as error:
            said.append(str(error))
        return said


@pytest.mark.covers("mcp", "oldest")
async def test_it_is_recorded_resumed_and_forked(recording: Recording):
    executed.clear()
    with playhead.run("r") as run:
        live = await program()
    assert run.id is not None
    seen = recording.read()
    call = seen.call("forecast")
    assert call.attributes[names.KIND] == "tool"
    assert seen.value(call, names.TOOL_ARGUMENTS_REF) == {"city": "Rome"}
    assert seen.call("broken").status == STATUS_ERROR
    assert executed == ["Rome", "north", "ask Rome"]
    with playhead.resume(run.id, completed="rerun") as rewound, playhead.run("r"):
        assert await program() == live
    assert (len(executed), rewound.report.live) == (3, 0)
    other = CallToolResult(content=[TextContent(type="text", text="grey")])
    with playhead.fork(run.id, at="forecast", outcome={"result": other}), playhead.run("r"):
        forked = await program()
    assert forked == [other, *live[1:]]
    assert executed[3:] == ["north", "ask Rome"]
