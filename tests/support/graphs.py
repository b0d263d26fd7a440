"""Graphs of LangGraph that the tests of our checkpointer run."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, StateGraph, add_messages


def added(messages: list[AnyMessage], writes: Sequence[list[AnyMessage]]) -> list[AnyMessage]:
    """The reducer of the delta channel."""
    return [*messages, *(message for write in writes for message in write)]


class Plain(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    visits: Annotated[int, operator.add]


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(added, snapshot_frequency=4)]
    visits: Annotated[int, operator.add]


def echo(state: Any) -> dict[str, Any]:
    """A node that answers the last message."""
    return {"messages": [AIMessage(f"echo {state['messages'][-1].content}", id=f"run-{uuid4()}")], "visits": 1}


def chat_graph(saver: Any, schema: Any = Plain, **options: Any) -> Any:
    """A graph of one node, which answers."""
    builder = StateGraph(schema)
    builder.add_node("model", echo)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile(checkpointer=saver, **options)


def thread(name: str) -> Any:
    """The configuration of a thread."""
    return {"configurable": {"thread_id": name}}


def say(graph: Any, name: str, text: str) -> list[str]:
    """Says something in a thread; returns all texts."""
    state = graph.invoke({"messages": [HumanMessage(text, id=str(uuid4()))]}, thread(name))
    return [message.content for message in state["messages"]]


def texts(graph: Any, name: str) -> list[str]:
    """The texts of a thread, as its last checkpoint has them."""
    return [message.content for message in graph.get_state(thread(name)).values.get("messages", [])]
