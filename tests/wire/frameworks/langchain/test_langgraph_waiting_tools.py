"""Tools that ask a person by LangGraph's `interrupt()`: they wait, which is no error, and go on with the answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

import playhead
from playhead import observe
from playhead.model import event as ev
from playhead.model import names
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected

pytestmark = pytest.mark.slow
effects: list[str] = []


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    effects.clear()
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("langchain_core", "langgraph")
        yield recording
        playhead.uninstrument()


@tool
def pay(amount: int) -> str:
    """Pays."""
    approved = interrupt({"pay": amount})
    effects.append(f"paid {amount}")
    return f"paid {amount}: {approved}"


@tool
@observe(kind="tool")
def pay_observed(amount: int) -> str:
    """Pays."""
    approved = interrupt({"pay": amount})
    effects.append(f"paid {amount}")
    return f"paid {amount}: {approved}"


def graph_with(a_tool: Any) -> Any:
    graph: Any = StateGraph(MessagesState)
    asked = {"name": a_tool.name, "args": {"amount": 5}, "id": "c1", "type": "tool_call"}
    graph.add_node("ask", lambda state: {"messages": [AIMessage("", tool_calls=[asked])]})
    graph.add_node("tools", ToolNode([a_tool]))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "tools")
    return graph.compile(name="desk", checkpointer=InMemorySaver())


@pytest.mark.covers("langgraph", "tools", "resume")
@pytest.mark.covers("langchain", "tools")
@pytest.mark.parametrize("a_tool", [pay, pay_observed], ids=["LangChain's", "observed"])
def test_a_tool_that_waits_for_a_person_has_not_failed(recording: Recording, a_tool: Any):
    def program() -> str:
        compiled, config = graph_with(a_tool), {"configurable": {"thread_id": "t1"}}
        waiting = compiled.invoke({"messages": []}, config)
        assert [each.value for each in waiting["__interrupt__"]] == [{"pay": 5}]
        return compiled.invoke(Command(resume="yes"), config)["messages"][-1].content

    with playhead.run("r") as run:
        live = program()
    assert (live, effects) == ("paid 5: yes", ["paid 5"])
    seen = recording.read()
    recorded = projected(seen, str(run.id))
    assert (recorded.row.errors, recorded.row.tool_calls) == (0, 2)
    waited, paid = [event for event in recorded.events if isinstance(event, ev.ToolCompleted)]
    assert (waited.outcome, waited.result, paid.outcome) == ("waiting", None, None)
    [asked] = [event for event in recorded.events if isinstance(event, ev.InputRequested)]
    [log] = [log for log in seen.logs if log.name == names.INPUT_REQUESTED]
    assert seen.value(log, names.PROMPT_REF) == {"pay": 5}
    assert asked.seq < waited.seq
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert program() == live
    assert (effects, resumed.report.live, resumed.report.divergences) == (["paid 5"], 0, [])
