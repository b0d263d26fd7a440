"""An Agno agent with three tools, as users write one; run by `test_agno_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from agno.agent import Agent
from agno.models.openai import OpenAIChat

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


def weigh(order: str) -> float:
    """Weigh an order's parcel."""
    effect("weigh", order)
    time.sleep(0.2)
    return 2.5


async def refund_later(order: str) -> str:
    """Pay an order back."""
    effect("refund", order)
    return f"refunded {order}"


def refund(order: str) -> str:
    """Pay an order back."""
    effect("refund", order)
    return f"refunded {order}"


def clerk() -> Agent:
    model = OpenAIChat(id="m", max_retries=0)
    return Agent(name="clerk", model=model, instructions="be kind", tools=[look_up, weigh, refund], telemetry=False)


def ask() -> str:
    return str(clerk().run("Refund A1, please.").content)


async def ask_later() -> str:
    text = ""
    async for event in clerk().arun("Refund A1, please.", stream=True):
        text += event.content if event.event == "RunContent" else ""
    return text


if __name__ == "__main__":
    if VARIANT == "streamed":
        print(asyncio.run(ask_later()))
    elif VARIANT == "observed":
        import playhead

        playhead.instrument()
        print(playhead.observe(ask)())
    else:
        print(ask())
