"""A team on AutoGen: one agent hands over to another one, which uses a tool; all of it is one recorded run.

    python examples/frameworks/autogen_agent.py

Nothing is set up for this: a scripted model answers, and no collector runs.
"""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import Swarm
from autogen_ext.models.openai import OpenAIChatCompletionClient

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_offered, tool_result_received

playhead.instrument()


def look_up(order: str) -> str:
    """Looks an order up."""
    return f"{order} is late by two days"


async def main() -> None:
    with MockModelServer() as server:
        server.when(~tool_offered("look_up"), tool_call("transfer_to_clerk", {}))
        server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.otherwise(text("Your order A1 is delayed by two days."))
        model = OpenAIChatCompletionClient(model="gpt-4o-mini", base_url=server.base_url, api_key="none")
        desk = AssistantAgent("desk", model, handoffs=["clerk"])
        clerk = AssistantAgent("clerk", model, tools=[look_up], max_tool_iterations=3)
        team = Swarm([desk, clerk], termination_condition=TextMentionTermination("delayed"))
        done = await team.run(task="Where is my order A1?")
        print(done.messages[-1].to_model_text())


if __name__ == "__main__":
    asyncio.run(main())
