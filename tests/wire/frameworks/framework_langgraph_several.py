"""Several agents of LangGraph: one that hands over by a command, one that takes over, and two at once that go by the
names of their nodes; run by `test_framework_agents.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

import playhead
from playhead import observe

warnings.simplefilter("ignore")
from langgraph.prebuilt import create_react_agent  # noqa: E402

playhead.instrument()
VARIANT = sys.argv[1]
an_entry: Any = (lambda function: function) if "alone" in VARIANT else observe
model = ChatOpenAI(model="m")
react: Any = create_react_agent


@tool
def hand_over() -> Command[Any]:
    """Hands over to the researcher."""
    return Command(goto="researcher", graph=Command.PARENT, update={"messages": [HumanMessage("Research A1.")]})


@tool
def look_up(order: str) -> str:
    """Looks an order up."""
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"look_up {order}\n")
    return "delayed"


researcher = react(model, [look_up], prompt="RESEARCHER", name="researcher")


def research(state: MessagesState) -> dict[str, Any]:
    """An agent called by hand, from the function of a node."""
    return {"messages": researcher.invoke({"messages": state["messages"][-1:]})["messages"][-1:]}


graph = StateGraph(MessagesState)
graph.add_node("supervisor", react(model, [hand_over], prompt="SUPERVISOR", name="supervisor"))
graph.add_node("researcher", research)
graph.add_node("critic", react(model, [], prompt="CRITIC"))
graph.add_node("checker", react(model, [], prompt="CHECKER"))
graph.add_edge(START, "supervisor")
graph.add_edge("researcher", "critic")
graph.add_edge("researcher", "checker")
graph.add_edge("critic", END)
graph.add_edge("checker", END)
team = graph.compile(name="team")
ASKED: Any = {"messages": [HumanMessage("What about A1?")]}


@an_entry
async def entry() -> str:
    if "streamed" in VARIANT:
        return [state async for state in team.astream(ASKED, stream_mode="values")][-1]["messages"][-1].content
    return (await asyncio.to_thread(team.invoke, ASKED))["messages"][-1].content


if __name__ == "__main__":
    print(asyncio.run(entry()))
