"""What is recorded of an MCP client's calls, with the library's own server in this process."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, GetPromptResult, ReadResourceResult
from pydantic import BaseModel

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import STATUS_ERROR
from tests.support.journal_reader import Recording, kind, start_recording

executed: list[str] = []
server = MCPServer("weather", log_level="CRITICAL")


class Sure(BaseModel):
    sure: bool


@observe
def look_outside(city: str) -> str:
    return f"sunny in {city}"


@server.tool()
async def forecast(city: str) -> dict[str, str]:
    executed.append(f"forecast {city}")
    return {"sky": look_outside(city)}


@server.tool()
async def broken() -> str:
    raise ValueError("no barometer")


@server.tool()
async def steps(ctx: Context[Any, Any]) -> str:
    await ctx.report_progress(1, 2, "half")
    return "done"


@server.tool()
async def endless() -> str:
    await asyncio.sleep(60)
    return "never"


@server.tool()
async def book(ctx: Context[Any, Any]) -> str:
    executed.append("book")
    answer = await ctx.elicit("Sure?", Sure)
    return answer.action


@server.resource("station://{name}")
def station(name: str) -> str:
    executed.append(f"station {name}")
    return f"station {name}"


@server.prompt()
def ask(city: str) -> str:
    executed.append(f"ask {city}")
    return f"How is {city}?"


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    executed.clear()
    playhead.instrument("mcp")
    yield from start_recording(tmp_path / "journal", monkeypatch)
    playhead.uninstrument("mcp")


@pytest.mark.covers("mcp", "spans", "tools", "messages")
async def test_a_tool_call_is_recorded_with_its_arguments_and_its_result(recording: Recording) -> None:
    with playhead.run("agent"):
        async with Client(server) as client:
            await client.list_tools()
            result = await client.call_tool("forecast", {"city": "Rome"})
    seen = recording.read()
    span = seen.call("forecast")
    assert (kind(span), span.kind, span.status) == ("tool", 3, 0)
    about = (names.MCP_METHOD, names.MCP_SERVER, names.TOOL_TYPE, names.TOOL_NAME)
    assert [span.attributes[name] for name in about] == ["tools/call", "weather", "extension", "forecast"]
    assert seen.input("forecast") == {"city": "Rome"}
    recorded = seen.output("forecast")
    assert recorded["structured_content"] == result.structured_content == {"sky": "sunny in Rome"}
    assert not recorded["is_error"]
    # Listing is no call; what the server does in this process is inside the call.
    assert [one.name for one in seen.spans] == ["look_outside", "execute_tool forecast", "invoke_agent agent"]
    assert seen.parent("look_outside") == "forecast"


@pytest.mark.covers("mcp", "spans")
async def test_resources_and_prompts_are_retrieved(recording: Recording) -> None:
    with playhead.run("agent"):
        async with Client(server) as client:
            await client.read_resource("station://north")
            await client.session.get_prompt("ask", {"city": "Rome"})
    seen = recording.read()
    assert kind(seen.call("read_resource")) == kind(seen.call("ask")) == "retriever"
    assert seen.call("read_resource").attributes[names.MCP_RESOURCE] == "station://north"
    assert seen.output("read_resource")["contents"][0]["text"] == "station north"
    assert seen.input("ask") == {"name": "ask", "arguments": {"city": "Rome"}}
    assert seen.output("ask")["messages"][0]["content"]["text"] == "How is Rome?"


@pytest.mark.covers("mcp", "errors")
async def test_a_tool_that_fails_is_a_failed_call_with_a_result(recording: Recording) -> None:
    with playhead.run("agent"):
        async with Client(server) as client:
            result = await client.call_tool("broken", {})
    assert result.is_error
    seen = recording.read()
    span = seen.call("broken")
    assert (span.status, span.attributes[names.ERROR_TYPE]) == (STATUS_ERROR, "tool_error")
    assert seen.output("broken")["is_error"]


@pytest.mark.covers("mcp", "errors")
async def test_protocol_errors_timeouts_and_cancellation(recording: Recording) -> None:
    with playhead.run("agent"):
        async with Client(server) as client:
            with pytest.raises(MCPError):
                await client.read_resource("nowhere://x")
            with pytest.raises(MCPError):
                await client.call_tool("endless", {}, read_timeout_seconds=0.01)
            with anyio.move_on_after(0.01):
                await client.call_tool("endless", {"again": 1})
    seen = recording.read()
    failed = seen.call("read_resource")
    assert failed.status == STATUS_ERROR
    assert failed.attributes[names.ERROR_TYPE] == "mcp.shared.exceptions.MCPError"
    timed_out, cancelled = seen.calls("endless")
    assert timed_out.attributes[names.ERROR_TYPE] == "mcp.shared.exceptions.MCPError"
    assert cancelled.attributes[names.OUTCOME] == "cancelled"


async def test_progress_and_what_the_server_asks_reach_the_program_as_ever(recording: Recording) -> None:
    seen_progress: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen_progress.append((progress, total, message))

    async def elicited(context: Any, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="decline")

    with playhead.run("agent"):
        async with Client(server, elicitation_callback=elicited, mode="legacy") as client:
            await client.call_tool("steps", {}, progress_callback=on_progress)
            result = await client.call_tool("book", {})
    assert seen_progress == [(1, 2, "half")]
    assert result.content[0].model_dump()["text"] == "decline"
    assert len(recording.read().calls("book")) == 1


async def agent() -> list[Any]:
    said: list[Any] = []
    with playhead.run("agent"):
        await ask_everything(said)
    return said


async def ask_everything(said: list[Any]) -> None:
    async with Client(server) as client:
        said.append(await client.call_tool("forecast", {"city": "Rome"}))
        said.append(await client.call_tool("broken", {}))
        said.append(await client.read_resource("station://north"))
        said.append(await client.get_prompt("ask", {"city": "Rome"}))
        try:
            await client.read_resource("nowhere://x")
        except MCPError as error:
            said.append((error.code, error.message))


def only_run(recording: Recording) -> str:
    [run] = {span.attributes[names.RUN_ID] for span in recording.read().spans}
    executed.clear()
    return str(run)


@pytest.mark.covers("mcp", "resume")
async def test_a_resumed_run_gets_the_librarys_own_objects_and_executes_nothing(recording: Recording) -> None:
    first = await agent()
    with playhead.resume(only_run(recording)) as resumed:
        assert await agent() == first
    assert executed == []
    assert resumed.report.answered == 5
    kinds = [type(one) for one in first]
    assert kinds == [CallToolResult, CallToolResult, ReadResourceResult, GetPromptResult, tuple]


@pytest.mark.covers("mcp", "fork")
async def test_a_fork_gives_the_outcome_that_was_set_and_executes_what_comes_after(recording: Recording) -> None:
    await agent()
    other = CallToolResult(content=[], structured_content={"sky": "grey"})
    with playhead.fork(only_run(recording), at="forecast", outcome={"result": other}):
        said = await agent()
    assert said[0] is other
    assert executed == ["station north", "ask Rome"]


async def test_a_frameworks_tool_around_the_same_call_records_it_alone(recording: Recording) -> None:
    async def framework(client: Client, name: str, arguments: dict[str, Any]) -> CallToolResult:
        call = observe(kind="tool", name=name)(lambda **given: client.call_tool("forecast", given))
        return await call(**arguments)

    with playhead.run("agent"):
        async with Client(server) as client:
            await framework(client, "forecast", {"city": "Rome"})
            await framework(client, "weather_forecast", {"city": "Oslo"})
            await framework(client, "plan_trip", {"city": "Lima"})
    seen = recording.read()
    tools = [span.name for span in seen.spans if kind(span) == "tool"]
    assert tools == [
        "execute_tool forecast",
        "execute_tool weather_forecast",
        "execute_tool forecast",
        "execute_tool plan_trip",
    ]
    assert seen.call("weather_forecast").attributes[names.MCP_SERVER] == "weather"
    assert names.MCP_SERVER not in seen.call("plan_trip").attributes


async def test_calls_without_an_agent_are_one_run(recording: Recording) -> None:
    async with Client(server) as client:
        await client.call_tool("forecast", {"city": "Rome"})
        await client.read_resource("station://north")
    assert len({span.attributes[names.RUN_ID] for span in recording.read().spans}) == 1


async def test_nothing_is_recorded_or_changed_when_it_is_switched_off(recording: Recording) -> None:
    playhead.uninstrument("mcp")
    async with Client(server) as client:
        result = await client.call_tool("forecast", {"city": "Rome"})
    assert result.structured_content == {"sky": "sunny in Rome"}
    assert [span.name for span in recording.read().spans] == ["invoke_agent look_outside"]


async def asked(what: str) -> Any:
    async with Client(server) as client:
        if what == "prompt":
            return await client.get_prompt("ask", {"city": "Rome"})
        if what == "resource":
            return await client.read_resource("station://roma")
        return await client.call_tool("forecast", {"city": "Rome"})


@pytest.mark.covers("mcp", "fork")
@pytest.mark.parametrize(
    ("what", "at", "read"),
    [
        ("tool", "forecast", lambda result: result.content[0].text),
        ("resource", "read_resource", lambda result: result.contents[0].text),
        ("prompt", "ask", lambda result: result.messages[0].content.text),
    ],
)
async def test_a_text_that_a_fork_gives_becomes_the_library_s_result(what: str, at: str, read: Any) -> None:
    with playhead.run("agent") as run:
        await asked(what)
    executed.clear()
    assert run.id is not None
    with playhead.fork(run.id, at=at, outcome="it snows") as forked, playhead.run("agent"):
        assert read(await asked(what)) == "it snows"
    with playhead.resume(forked.id), playhead.run("agent"):
        assert read(await asked(what)) == "it snows"
    with playhead.fork(run.id, at=at, outcome={"result": {"sky": "grey"}}), playhead.run("agent"):
        assert read(await asked(what)) == '{"sky": "grey"}'
    assert executed == []
