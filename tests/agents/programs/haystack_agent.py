"""A Haystack agent with three tools, as users write one; run by `test_haystack_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool

VARIANT = sys.argv[1]


def effect(name: str, order: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"{name} {order}\n")
    if os.environ.get("DIE_IN") == name:
        os.kill(os.getpid(), signal.SIGKILL)


@tool
def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    effect("look_up", order)
    return {"order": order, "status": "delayed"}


@tool
def weigh(order: str) -> float:
    """Weigh an order's parcel."""
    effect("weigh", order)
    time.sleep(0.2)
    return 2.5


@tool
def refund(order: str) -> str:
    """Pay an order back."""
    effect("refund", order)
    return f"refunded {order}"


def agent() -> Agent:
    model = OpenAIChatGenerator(model="m", max_retries=0)
    return Agent(chat_generator=model, system_prompt="be kind", tools=[look_up, weigh, refund])


def ask() -> str:
    return str(agent().run(messages=[ChatMessage.from_user("Refund A1, please.")])["last_message"].text)


async def ask_later() -> str:
    answer = await agent().run_async(messages=[ChatMessage.from_user("Refund A1, please.")])
    return str(answer["last_message"].text)


def ask_pipeline() -> str:
    pipeline = Pipeline(metadata={"name": "desk"})
    pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user("Refund {{order}}, please.")]))
    pipeline.add_component("clerk", agent())
    pipeline.connect("prompt.prompt", "clerk.messages")
    return str(pipeline.run({"prompt": {"order": "A1"}})["clerk"]["last_message"].text)


if __name__ == "__main__":
    if VARIANT == "async":
        print(asyncio.run(ask_later()))
    elif VARIANT == "pipeline":
        print(ask_pipeline())
    elif VARIANT == "observed":
        import playhead

        playhead.instrument()
        print(playhead.observe(ask)())
    else:
        print(ask())
