"""A tool of an MCP server that a graph calls through LangChain's adapters (mcp 1): one call, none on resume."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.journal_reader import Recording, kind, start_recording

server = pytest_plugin.mock_model_server
SERVER = str(Path(__file__).with_name("mcp_server.py"))


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "langchain_core", "langgraph", "mcp")
        yield recording
        playhead.uninstrument()


async def ask(server: MockModelServer, folder: Path) -> str:
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "EFFECTS": str(folder / "effects")}
    connection: Any = {"command": sys.executable, "args": [SERVER], "transport": "stdio", "env": env}
    tools = await MultiServerMCPClient({"weather": connection}).get_tools()
    model: Any = ChatOpenAI(model="m", base_url=server.base_url, api_key="none", max_retries=0)
    bound = model.bind_tools(tools)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    done = await graph.compile(name="clerk").ainvoke({"messages": [HumanMessage("How is Paris?")]})
    return str(done["messages"][-1].content)


@pytest.mark.covers("langchain", "tools", "resume")
async def test_a_tool_of_an_mcp_server_is_one_call(recording: Recording, server: MockModelServer, tmp_path: Path):
    server.when(~tool_result_received("forecast"), tool_call("forecast", {"city": "Paris"}))
    server.otherwise(text("It is sunny."))
    with playhead.run("r") as run:
        assert await ask(server, tmp_path) == "It is sunny."
    seen = recording.read()
    [called] = [span for span in seen.spans if kind(span) == "tool"]
    assert (called.attributes[names.TOOL_NAME], called.attributes[names.MCP_SERVER]) == ("forecast", "weather")
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"city": "Paris"}
    assert "sunny in Paris" in str(seen.value(called, names.TOOL_RESULT_REF))
    asked = next(span for span in seen.spans if kind(span) == "llm")
    [message] = seen.messages(asked.attributes[names.OUTPUT_MESSAGES_REF])
    assert called.attributes[names.TOOL_CALL_ID] == message["parts"][0]["id"]
    requests = len(server.requests)
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert await ask(server, tmp_path) == "It is sunny."
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert (tmp_path / "effects").read_text() == "forecast Paris\n"
