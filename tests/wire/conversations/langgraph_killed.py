"""A LangGraph agent with our checkpointer, run by `test_langgraph_killed.py`: `ask` begins, `go_on` continues."""

# ruff: noqa: T201 - what it prints is what the test reads

import os
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import playhead
from playhead.conversations.langgraph import PlayheadSaver
from tests.support import patience

playhead.instrument()
patience.wait_for_collector()


@tool
def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"look_up {order}\n")
    return {"order": order, "status": "delayed"}


@tool
def refund(order: str, amount: float) -> str:
    """Refunds an order."""
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"refund {order}\n")
    return f"refunded {amount}"


model = ChatOpenAI(model="m").bind_tools([look_up, refund])


def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_node("tools", ToolNode([look_up, refund]))
builder.add_edge(START, "ask")
builder.add_conditional_edges("ask", tools_condition)
builder.add_edge("tools", "ask")
graph = builder.compile(checkpointer=PlayheadSaver(), name="refunds")

thread: Any = {"configurable": {"thread_id": os.environ["THREAD"]}}
asked: Any = {"messages": [HumanMessage("Refund A1, please.")]} if sys.argv[1] == "ask" else None
# With LangGraph's default, "async", a step may begin before the last one is stored.
print(graph.invoke(asked, thread, durability="sync")["messages"][-1].text)
