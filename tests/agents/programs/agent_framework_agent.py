"""An agent of Agent Framework with three tools, as users write one; run by `test_agent_framework_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient

VARIANT = sys.argv[1]


def effect(tool: str, order: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"{tool} {order}\n")
    if os.environ.get("DIE_IN") == tool:
        os.kill(os.getpid(), signal.SIGKILL)


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    effect("look_up", order)
    return {"order": order, "status": "delayed"}


async def weigh(order: str) -> float:
    """Weigh an order's parcel."""
    effect("weigh", order)
    await asyncio.sleep(0.2)
    return 2.5


def refund(order: str) -> str:
    """Pay an order back."""
    effect("refund", order)
    return f"refunded {order}"


async def ask() -> str:
    client = OpenAIChatClient(model="m") if VARIANT == "responses" else OpenAIChatCompletionClient(model="m")
    clerk = Agent(client, "be kind", name="clerk", tools=[look_up, weigh, refund])
    if VARIANT == "streamed":
        return "".join([update.text async for update in clerk.run("Refund A1, please.", stream=True)])
    return (await clerk.run("Refund A1, please.")).text


if __name__ == "__main__":
    if VARIANT == "observed":
        import playhead

        playhead.instrument()
        ask = playhead.observe(ask)
    print(asyncio.run(ask()))
