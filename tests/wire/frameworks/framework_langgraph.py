"""A LangGraph agent with two tools, as users write one; run by `test_framework_langgraph.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import json
import os
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage, convert_to_messages
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import playhead
from playhead import observe

playhead.instrument()
# Alone, nothing is said about tools and agent: what is recorded is what instrumentation sees.
ALONE = "alone" in sys.argv[1]
a_tool: Any = (lambda function: function) if ALONE else observe(kind="tool")
an_agent: Any = (lambda function: function) if ALONE else observe
STREAMED = "streamed" in sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@tool
@a_tool
def look_up(order: str, verbose: bool = False) -> dict[str, str]:
    """Looks an order up.

    Args:
        order: The order's number.
        verbose: Whether to say everything.
    """
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


@tool
@a_tool
def refund(order: str, amount: float, config: RunnableConfig) -> str:
    """Refunds an order."""
    assert "thread_id" in config.get("configurable", {})
    effect(f"refund {order} {amount}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


class OverHttp(BaseChatModel):
    """A model as users write one: on no client that is instrumented."""

    tools: Any = None

    @property
    def _llm_type(self) -> str:
        return "over-http"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return OverHttp(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        asked = {"model": "m", "messages": convert_to_openai_messages(messages), "tools": self.tools}
        url, headers = f"{os.environ['OPENAI_BASE_URL']}/chat/completions", {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(asked).encode(), headers)
        with urllib.request.urlopen(request) as response:
            said = json.load(response)["choices"][0]["message"]
        [message] = convert_to_messages([{"content": "", **{key: value for key, value in said.items() if value}}])
        return ChatResult(generations=[ChatGeneration(message=message)])


def hosted_model() -> Any:
    if "anthropic" in sys.argv[1]:
        return ChatAnthropic(model_name="claude-sonnet-5", timeout=None, stop=None, streaming=STREAMED)
    return OverHttp() if "own" in sys.argv[1] else ChatOpenAI(model="m", streaming=STREAMED)


model = hosted_model().bind_tools([look_up, refund])


def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke([SystemMessage("be kind"), *state["messages"]])]}


async def ask_later(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await model.ainvoke([SystemMessage("be kind"), *state["messages"]])]}


graph = StateGraph(MessagesState)
graph.add_node("ask", ask_later if STREAMED else ask)
graph.add_node("tools", ToolNode([look_up, refund]))
graph.add_edge(START, "ask")
graph.add_conditional_edges("ask", tools_condition)
graph.add_edge("tools", "ask")
compiled = graph.compile()


ASKED: Any = {"messages": [HumanMessage("Refund A1, please.")]}
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t1"}}


@an_agent
def agent() -> str:
    return compiled.invoke(ASKED, CONFIG)["messages"][-1].text


@an_agent
async def streaming_agent() -> str:
    states = [state async for state in compiled.astream(ASKED, CONFIG, stream_mode="values")]
    return states[-1]["messages"][-1].text


if __name__ == "__main__":
    properties = refund.tool_call_schema.model_json_schema()["properties"]
    assert set(properties) == {"order", "amount"}, properties
    print(asyncio.run(streaming_agent()) if STREAMED else agent())
