"""One agent, in plain Python, with `playhead.Agent`, with pydantic-ai and with OpenAI Agents: the record has the
same events, but for names."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.model.event import RunEvent
from playhead.models import OpenAIModel
from playhead.testing import MockModelServer, Rule, RunRecorder, tool_call
from playhead.testing import text as says

SYSTEM, QUESTION = "You look orders up.", "Where is A1?"
AFTER_A_TOOL = Rule("after a tool", lambda request: request.messages[-1]["role"] == "tool")


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer(models=("mock-model",)) as server:
        server.when(AFTER_A_TOOL, says("It is in Rome."))
        server.otherwise(tool_call("look_up", {"order": "A1"}, call_id="call_1"))
        playhead.instrument("openai", "agents", "pydantic_ai")
        yield server
        playhead.uninstrument()


def look_up(order: str) -> str:
    """Looks an order up."""
    return f"{order} is in Rome"


PARAMETERS: Any = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}


async def plain(client: openai.AsyncOpenAI) -> str:
    @observe(kind="agent", name="support")
    async def agent(question: str) -> str:
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
        function = {"name": "look_up", "description": "Looks an order up.", "parameters": PARAMETERS}
        tools: Any = [{"type": "function", "function": function}]
        while True:
            answer = await client.chat.completions.create(model="mock-model", messages=messages, tools=tools)
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content or ""
            for call in message.tool_calls:
                asked: Any = call
                result = observe(kind="tool")(look_up)(**json.loads(asked.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    return await agent(QUESTION)


async def ours(client: openai.AsyncOpenAI) -> str:
    model = OpenAIModel("mock-model", client=client)
    agent = playhead.Agent(name="support", instructions=SYSTEM, model=model, tools=[look_up])
    return (await agent.run(QUESTION)).response


async def pydantic_ai(client: openai.AsyncOpenAI) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("mock-model", provider=OpenAIProvider(openai_client=client))
    agent = Agent(model, name="support", instructions=SYSTEM, tools=[look_up])
    return (await agent.run(QUESTION)).output


async def openai_agents(client: openai.AsyncOpenAI) -> str:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("mock-model", client)
    agent = Agent("support", instructions=SYSTEM, model=model, tools=[function_tool(look_up)])
    return (await Runner.run(agent, QUESTION)).final_output


Agent = Callable[[openai.AsyncOpenAI], Any]
EXPECTED = [
    "run_started",
    "message_added system",
    "message_added user",
    "llm_called mock-model of 2",
    "message_added assistant",
    "llm_completed mock-model",
    "tool_called look_up {'order': 'A1'} for call_1",
    "tool_completed look_up A1 is in Rome",
    "message_added tool",
    "llm_called mock-model of 4",
    "message_added assistant",
    "llm_completed mock-model",
    "run_completed",
]


def told(event: RunEvent, content: Callable[[str | None], Any]) -> str:
    """The event in words, without names of agents, ids and times."""
    fields: Any = event
    match event.kind:
        case "message_added":
            return f"message_added {fields.role}"
        case "llm_called":
            return f"llm_called {fields.model} of {fields.messages}"
        case "llm_completed":
            return f"llm_completed {fields.model}"
        case "tool_called":
            return f"tool_called {fields.name} {content(fields.arguments)} for {fields.call_id}"
        case "tool_completed":
            return f"tool_completed {fields.name} {content(fields.result)}"
        case kind:
            return kind


@pytest.mark.parametrize("agent", [plain, ours, pydantic_ai, openai_agents])
def test_the_record_has_the_same_events(agent: Agent, server: MockModelServer, playhead_recorder: RunRecorder):
    async def main() -> str:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k") as client:
            return await agent(client)

    assert asyncio.run(main()) == "It is in Rome."
    [run] = playhead_recorder.runs
    assert sorted(told(event, run.content) for event in run.events) == sorted(EXPECTED)
    order = [told(event, run.content) for event in run.events if not event.kind.startswith("message_added")]
    assert order == [each for each in EXPECTED if not each.startswith("message_added")]
    messages = [[part["type"] for part in message["parts"]] for message in run.context().messages]
    assert messages == [["text"], ["text"], ["tool_call"], ["tool_call_response"]]
