"""Several agents of pydantic-ai: one whose tool asks another, twice at once; run by `test_framework_agents.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent

import playhead
from playhead import observe

playhead.instrument()
VARIANT = sys.argv[1]
an_entry: Any = (lambda function: function) if "alone" in VARIANT else observe
desk = Agent("openai-chat:m", instructions="DESK")
expert = Agent("openai-chat:m", instructions="EXPERT", name="expert")


@desk.tool_plain
async def ask_expert(order: str) -> str:
    """Asks the expert."""
    return (await expert.run(f"What about {order}?")).output


@desk.tool_plain
def refund(order: str) -> str:
    """Refunds an order."""
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"refund {order}\n")
    return "refunded"


@an_entry
async def entry(question: str) -> str:
    if "streamed" in VARIANT:
        async with desk.run_stream(question) as result:
            return [said async for said in result.stream_text(debounce_by=None)][-1]
    return (await desk.run(question)).output


if __name__ == "__main__":
    print(asyncio.run(entry("Refund A1 and B2.")))
