"""Agents on AutoGen with two tools, as users write them; run by `test_autogen.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import Swarm
from autogen_agentchat.tools import AgentTool
from autogen_ext.models.openai import OpenAIChatCompletionClient

import playhead

playhead.instrument()
VARIANT = sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@playhead.observe(kind="step")
def database(order: str) -> dict[str, str]:
    return {"order": order, "status": "delayed"}


def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    effect(f"look_up {order}")
    return database(order)


async def refund(order: str, amount: float) -> str:
    """Refunds an order."""
    effect(f"refund {order} {float(amount)}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


def support(name: str, **how: Any) -> AssistantAgent:
    model = OpenAIChatCompletionClient(model="gpt-4o-mini", api_key="none", max_retries=0)
    return AssistantAgent(name, model, max_tool_iterations=5, model_client_stream=VARIANT == "streamed", **how)


async def main() -> Any:
    task = "Refund A1, please."
    if VARIANT == "team":
        desk = support("desk", handoffs=["clerk"])
        clerk = support("clerk", tools=[look_up], handoffs=["desk"])
        done = await Swarm([desk, clerk], termination_condition=TextMentionTermination("refunded.")).run(task=task)
    elif VARIANT == "agent tool":
        clerk = support("clerk", tools=[look_up])
        done = await support("desk", tools=[AgentTool(clerk, return_value_as_last_message=True)]).run(task=task)
    elif VARIANT == "streamed":
        stream = support("support", tools=[look_up, refund]).run_stream(task=task)
        *_, done = [each async for each in stream]
    else:
        done = await support("support", tools=[look_up, refund]).run(task=task)
    return done.messages[-1].content


if __name__ == "__main__":
    print(asyncio.run(main()))
