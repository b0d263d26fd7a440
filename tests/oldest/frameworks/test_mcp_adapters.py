"""A tool of an MCP server that a graph calls through LangChain's adapters (mcp 1): one call, none on resume."""

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
from playhead.testing import MockModelServer, pytest_plugin
from tests.support.journal_reader import Recording, start_recording
from tests.support.programs.framework_runs import assert_mcp_tool_is_one_call, mcp_environ

server = pytest_plugin.mock_model_server
SERVER = str(Path(__file__).with_name("mcp_server.py"))


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "langchain_core", "langgraph", "mcp")
        yield recording
        playhead.uninstrument()


async def ask(server: MockModelServer, folder: Path) -> str:
    connection: Any = {"command": sys.executable, "args": [SERVER], "transport": "stdio", "env": mcp_environ(folder)}
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
    await assert_mcp_tool_is_one_call(ask, recording, server, tmp_path)
