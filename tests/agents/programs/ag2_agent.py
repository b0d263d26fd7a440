"""An agent of AG2 with three tools, as users write one; run by `test_ag2_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path

from ag2 import Agent
from ag2.config import OpenAIConfig, OpenAIResponsesConfig

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
    kind = OpenAIResponsesConfig if VARIANT == "responses" else OpenAIConfig
    config = kind(model="m", streaming=VARIANT == "streamed", max_retries=0)
    clerk = Agent("clerk", "be kind", config=config, tools=[look_up, weigh, refund])
    return str((await clerk.ask("Refund A1, please.")).body)


if __name__ == "__main__":
    if VARIANT == "observed":
        import playhead

        playhead.instrument()
        ask = playhead.observe(ask)
    print(asyncio.run(ask()))
