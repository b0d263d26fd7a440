"""Forks that give LangChain's tools and retrievers another outcome, where LangGraph's `ToolNode` calls them."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

import playhead
from tests.support.journal_reader import Recording, start_recording

pytestmark = pytest.mark.slow
executed: list[str] = []


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    executed.clear()
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("langchain_core", "langgraph")
        yield recording
        playhead.uninstrument()


@tool
def look_up(order: str) -> str:
    """Looks an order up."""
    executed.append(order)
    return f"{order} is on its way"


@tool(response_format="content_and_artifact")
def weigh(order: str) -> tuple[str, int]:
    """Weighs an order."""
    return "heavy", 12


def graph_with(a_tool: Any, call_id: str = "c1") -> Any:
    graph: Any = StateGraph(MessagesState)
    asked = {"name": a_tool.name, "args": {"order": "A1"}, "id": call_id, "type": "tool_call"}
    graph.add_node("ask", lambda state: {"messages": [AIMessage("", tool_calls=[asked])]})
    graph.add_node("tools", ToolNode([a_tool]))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "tools")
    return graph.compile(name="desk")


def recorded(a_tool: Any) -> str:
    with playhead.run("r") as run:
        graph_with(a_tool).invoke({"messages": []})
    executed.clear()
    assert run.id is not None
    return run.id


@pytest.mark.covers("langchain", "fork")
@pytest.mark.covers("langgraph", "fork")
@pytest.mark.parametrize(
    ("outcome", "content"),
    [
        ("it is lost", "it is lost"),
        ({"result": "it is lost"}, "it is lost"),
        ({"status": "lost"}, '{"status": "lost"}'),
        (["lost", "found"], '["lost", "found"]'),  # by the node, as of any tool
        ([{"type": "text", "text": "lost"}], [{"type": "text", "text": "lost"}]),
        ([{"type": "parcel"}], '[{"type": "parcel"}]'),
        ({"lost": date(2020, 1, 1)}, "{'lost': datetime.date(2020, 1, 1)}"),
        ({"result": ToolMessage("it is lost", tool_call_id="of nobody")}, "it is lost"),
    ],
    ids=["a text", "a result", "an object", "texts", "blocks", "other objects", "a date", "a message"],
)
async def test_an_outcome_becomes_the_message_that_the_node_expects(outcome: Any, content: Any):
    run_id = recorded(look_up)
    with playhead.fork(run_id, at="look_up", outcome=outcome) as forked, playhead.run("r"):
        message = graph_with(look_up).invoke({"messages": []})["messages"][-1]
    assert isinstance(message, ToolMessage)
    assert (message.content, message.tool_call_id, message.name) == (content, "c1", "look_up")
    with playhead.fork(run_id, at="look_up", outcome=outcome), playhead.run("r"):
        answer = await graph_with(look_up).ainvoke({"messages": []})
    assert answer["messages"][-1].content == content
    assert executed == []
    with playhead.resume(forked.id), playhead.run("r"):  # what it was given is in its record
        again = graph_with(look_up).invoke({"messages": []})["messages"][-1]
    assert (again.content, again.tool_call_id) == (content, "c1")


def test_an_outcome_may_have_an_artifact_where_the_tool_has_one():
    run_id = recorded(weigh)
    with playhead.fork(run_id, at="weigh", outcome={"result": ("light", 1)}), playhead.run("r"):
        message = graph_with(weigh).invoke({"messages": []})["messages"][-1]
    assert (message.content, message.artifact) == ("light", 1)
    with playhead.fork(run_id, at="weigh", outcome="light"), playhead.run("r"):
        message = graph_with(weigh).invoke({"messages": []})["messages"][-1]
    assert (message.content, message.artifact) == ("light", None)


def test_a_command_stays_one():
    run_id = recorded(look_up)
    update = Command(update={"messages": [ToolMessage("it is lost", tool_call_id="c1")]})
    with playhead.fork(run_id, at="look_up", outcome={"result": update}), playhead.run("r"):
        message = graph_with(look_up).invoke({"messages": []})["messages"][-1]
    assert (message.content, executed) == ("it is lost", [])


def test_an_error_is_raised_in_the_tool():
    run_id = recorded(look_up)
    fork = playhead.fork(run_id, at="look_up", outcome={"error": TimeoutError("30 s")})
    with pytest.raises(TimeoutError), fork, playhead.run("r"):
        graph_with(look_up).invoke({"messages": []})


def test_called_without_an_id_a_tool_returns_the_outcome_itself():
    with playhead.run("r") as run:
        look_up.invoke({"order": "A1"})
    assert run.id is not None
    with playhead.fork(run.id, at="look_up", outcome="it is lost"), playhead.run("r"):
        assert look_up.invoke({"order": "A1"}) == "it is lost"


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=f"about {query}")]


@pytest.mark.parametrize("outcome", ["nothing", ["nothing"], {"result": [Document(page_content="nothing")]}])
async def test_a_retriever_s_texts_become_documents(outcome: Any):
    with playhead.run("r") as run:
        Shelf().invoke("lamps")
    assert run.id is not None
    with playhead.fork(run.id, at="Shelf", outcome=outcome), playhead.run("r"):
        assert Shelf().invoke("lamps") == [Document(page_content="nothing")]
    with playhead.fork(run.id, at="Shelf", outcome=outcome), playhead.run("r"):
        assert await Shelf().ainvoke("lamps") == [Document(page_content="nothing")]
