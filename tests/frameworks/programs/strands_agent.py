"""A Strands agent with two tools, as users write one; run by `test_strands_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel

import playhead

playhead.instrument()
VARIANT = sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@tool
def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


@tool
async def refund(order: str, amount: float) -> str:
    """Pay an order back."""
    effect(f"refund {order} {float(amount)}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


def model() -> Any:
    if VARIANT == "anthropic":
        return AnthropicModel(client_args={"max_retries": 0}, model_id="m", max_tokens=100)
    return OpenAIModel(client_args={"max_retries": 0}, model_id="m")


async def ask(agent: Agent, question: str) -> str:
    async for event in agent.stream_async(question):
        if "result" in event:
            return str(event["result"]).strip()
    raise AssertionError("the agent gave no result")


if __name__ == "__main__":
    agent = Agent(name="clerk", model=model(), system_prompt="be kind", tools=[look_up, refund], callback_handler=None)
    if VARIANT == "streamed":
        print(asyncio.run(ask(agent, "Refund A1, please.")))
    else:
        print(str(agent("Refund A1, please.")).strip())
