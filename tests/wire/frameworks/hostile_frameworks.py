"""Agents whose own objects raise `SystemExit` when anybody but their framework asks them; see the test beside this."""

# ruff: noqa: T201 - what it prints is what the test reads; one framework for each start

import asyncio
import sys
from typing import Any, cast

import playhead

playhead.instrument()
raised: list[str] = []


def boom_if_observed() -> None:
    """Nothing that the framework itself asks: only what recording adds must not matter."""
    caller = sys._getframe(2).f_globals.get("__name__", "")
    if caller.startswith("playhead."):
        raised.append(caller)
        raise SystemExit("boom")


class HostileName(str):
    __slots__ = ()

    def __str__(self) -> str:
        boom_if_observed()
        return str.__str__(self)

    def __len__(self) -> int:
        boom_if_observed()
        return str.__len__(self)


class HostileFunction:
    def __init__(self, function: Any):
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        boom_if_observed()
        raise AttributeError(name)


def langchain() -> str:
    from langchain_core.tools import StructuredTool

    def add(x: int) -> str:
        """Adds one."""
        return str(x + 1)

    tool = StructuredTool.from_function(add)
    tool.func = HostileFunction(add)
    with playhead.run("hostile"):
        return tool.invoke({"x": 1})


def langgraph() -> str:
    from langgraph.errors import ParentCommand
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import Command

    class HostileTarget:
        def __getattribute__(self, name: str) -> Any:
            boom_if_observed()
            return object.__getattribute__(self, name)

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": ["2"]}

    def hand_over(state: MessagesState) -> dict[str, Any]:
        raise ParentCommand(Command(graph=Command.PARENT, goto=cast(Any, HostileTarget())))

    def compiled(node: Any) -> Any:
        graph = StateGraph(MessagesState)
        graph.add_node("ask", node)
        graph.add_edge(START, "ask")
        return graph.compile()

    plain = compiled(ask)
    plain.name = HostileName("hostile")
    try:
        compiled(hand_over).invoke({"messages": ["1"]})
    except ParentCommand:
        return plain.invoke({"messages": ["1"]})["messages"][-1].content
    raise AssertionError("the command did not leave the graph")


def openai_agents() -> str:
    from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
    from agents.models.interface import Model
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)

    class Says(Model):
        async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
            text = ResponseOutputText(annotations=[], text="2", type="output_text")
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    async def agent() -> str:
        return (await Runner.run(Agent(name=HostileName("hostile"), model=Says()), "1")).final_output

    return asyncio.run(agent())


def pydantic_ai() -> str:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    agent = Agent(TestModel(custom_output_text="2"), name=HostileName("hostile"))

    async def ask() -> str:
        return (await agent.run("1")).output

    return asyncio.run(ask())


def openai() -> str:
    from playhead.capture.openai.chat import response_format
    from playhead.capture.openai.responses import text_format

    class Hostile:
        @classmethod
        def model_json_schema(cls) -> dict[str, Any]:
            raised.append("schema")
            raise SystemExit("boom")

    for read in (response_format, text_format):
        schema: Any = read(Hostile)
        assert schema["type"].endswith("Hostile")
    return "2"


if __name__ == "__main__":
    programs = (langchain, langgraph, openai_agents, pydantic_ai, openai)
    answer = {each.__name__: each for each in programs}[sys.argv[1]]()
    print(answer, len(raised) > 0)
