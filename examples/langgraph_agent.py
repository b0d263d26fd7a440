"""A LangGraph agent on Anthropic's model: tools, a graph that waits for a person, and a later run that goes on.

    python examples/langgraph_agent.py

A scripted model answers, unless ANTHROPIC_BASE_URL names another endpoint. `playhead.instrument()` records the graph,
its nodes, the tools and the model. Start `playhead serve` to receive it; `playhead runs --session order-A1` then lists
both runs.
"""

import os
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_result_received

SYSTEM = SystemMessage("You are the support agent of a small shop.")


@tool
def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    return {"order": order, "status": "delayed by two days"}


@tool
def refund(order: str, amount: float) -> str:
    """Refunds an order, once a person has agreed."""
    answer = interrupt({"question": f"Refund {amount:.2f} for {order}?"})
    return f"refunded {amount:.2f}" if answer == "yes" else "refused"


def support_graph() -> Any:
    """A model that asks for tools, and the tools."""
    model = ChatAnthropic(model_name="claude-sonnet-5", timeout=None, stop=None).bind_tools([look_up, refund])

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke([SYSTEM, *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([look_up, refund]))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    return graph.compile(name="support", checkpointer=InMemorySaver())


def main() -> None:
    """Asks for a refund; a person agrees."""
    with MockModelServer() as server:
        server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.when(~tool_result_received("refund"), tool_call("refund", {"order": "A1", "amount": 5}))
        server.otherwise(text("Order A1 is delayed. You get 5.00 back."))
        os.environ.setdefault("ANTHROPIC_BASE_URL", server.url)
        os.environ.setdefault("ANTHROPIC_API_KEY", "none")
        graph, thread = support_graph(), RunnableConfig(configurable={"thread_id": "order-A1"})
        waiting = graph.invoke({"messages": [HumanMessage("A1 is late, I want 5 back.")]}, thread)
        print(waiting["__interrupt__"][0].value["question"])
        print(graph.invoke(Command(resume="yes"), thread)["messages"][-1].content)


if __name__ == "__main__":
    playhead.instrument()
    main()
