"""What a model thinks, its tokens, and forks, through frameworks: LangChain, LangGraph, OpenAI Agents."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from openai import AsyncOpenAI

import playhead
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, pytest_plugin, text, thinking, tool_call, tool_result_received
from tests.support.journal_reader import Journaled, Recording, kind, start_recording

pytestmark = pytest.mark.slow
server = pytest_plugin.mock_model_server
looked_up: list[str] = []


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    set_tracing_disabled(True)
    looked_up.clear()
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "anthropic", "agents", "langchain_core", "langgraph")
        yield recording
        playhead.uninstrument()


@pytest.fixture
def thoughtful(server: MockModelServer) -> MockModelServer:
    """Thinks, and asks for a look-up; then thinks, and answers."""
    server.when(~tool_result_received("look_up"), thinking("I have to look") + tool_call("look_up", {"order": "A1"}))
    server.otherwise(thinking("now I know") + text("A1 is late."))
    return server


def look(order: str) -> str:
    """Looks an order up."""
    looked_up.append(order)
    return f"{order} is delayed"


def claude(server: MockModelServer) -> Any:
    at: dict[str, Any] = {"base_url": server.url, "api_key": "none", "max_retries": 0}
    options: dict[str, Any] = {"model": "claude-m", "max_tokens": 2048, **at}
    return ChatAnthropic(thinking={"type": "enabled", "budget_tokens": 1024}, **options)


async def langchain(server: MockModelServer) -> str:
    look_up = tool("look_up", description="Looks an order up.")(look)
    model = claude(server).bind_tools([look_up])
    messages: list[Any] = [HumanMessage("Where is A1?")]
    while True:
        messages.append(await model.ainvoke(messages))
        if not messages[-1].tool_calls:
            return messages[-1].text
        messages += [await look_up.ainvoke(call) for call in messages[-1].tool_calls]


async def langgraph(server: MockModelServer) -> str:
    look_up = tool("look_up", description="Looks an order up.")(look)
    model = claude(server).bind_tools([look_up])

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    done = await graph.compile(name="clerk").ainvoke({"messages": [HumanMessage("Where is A1?")]})
    return str(done["messages"][-1].text)


async def openai_agents(server: MockModelServer) -> str:
    async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        model = OpenAIResponsesModel("gpt-m", client)
        agent = Agent("clerk", model=model, tools=[function_tool(look, name_override="look_up")])
        return str((await Runner.run(agent, "Where is A1?")).final_output)


PROGRAMS = [langchain, langgraph, openai_agents]


def calls_of(seen: Journaled, run: str) -> list[Span]:
    found = [span for span in seen.spans if kind(span) == "llm" and span.attributes[names.RUN_ID] == run]
    return sorted(found, key=lambda span: span.attributes[names.CALL_ORDER])


@pytest.mark.covers("langchain", "reasoning", "usage", "resume")
@pytest.mark.covers("langgraph", "reasoning", "usage", "resume")
@pytest.mark.covers("agents", "reasoning", "usage", "resume")
@pytest.mark.parametrize("program", PROGRAMS)
async def test_thoughts_and_their_tokens_are_recorded_and_come_back(
    recording: Recording, thoughtful: MockModelServer, program: Callable[[MockModelServer], Awaitable[str]]
):
    with playhead.run("r") as run:
        assert await program(thoughtful) == "A1 is late."
    seen = recording.read()
    calls = calls_of(seen, str(run.id))
    assert [seen.value(call, names.REASONING_REF) for call in calls] == ["I have to look", "now I know"]
    for call in calls:
        assert call.attributes[names.INPUT_TOKENS] > 0
        assert call.attributes[names.OUTPUT_TOKENS] > call.attributes[names.REASONING_TOKENS] > 0
    requests = len(thoughtful.requests)
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert await program(thoughtful) == "A1 is late."
    assert (len(thoughtful.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert looked_up == ["A1"]


@pytest.mark.covers("langchain", "fork")
@pytest.mark.covers("langgraph", "fork")
@pytest.mark.covers("agents", "fork")
@pytest.mark.parametrize("program", PROGRAMS)
async def test_another_answer_of_the_model_is_followed_in_a_fork(
    recording: Recording, thoughtful: MockModelServer, program: Callable[[MockModelServer], Awaitable[str]]
):
    with playhead.run("r") as run:
        await program(thoughtful)
    last = calls_of(recording.read(), str(run.id))[-1]
    requests = len(thoughtful.requests)
    with playhead.fork(str(run.id), at=last.span_id, outcome="A1 is lost."), playhead.run("r") as forked:
        assert await program(thoughtful) == "A1 is lost."
    assert forked.id != run.id
    assert (len(thoughtful.requests), looked_up) == (requests, ["A1"])
