"""A pydantic-ai agent with two tools, as users write one; run by `test_framework_pydantic_ai.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, RunContext

import playhead
from playhead import observe

playhead.instrument()
# Alone, nothing is said about tools and agent: what is recorded is what instrumentation sees.
ALONE = "alone" in sys.argv[1]
a_tool: Any = (lambda function: function) if ALONE else observe(kind="tool")
an_agent: Any = (lambda function: function) if ALONE else observe
VARIANT = sys.argv[1]
MODELS = {"responses": "openai-responses:m", "anthropic": "anthropic:claude-sonnet-5"}
MODEL = next((name for said, name in MODELS.items() if said in VARIANT), "openai-chat:m")
# Anthropic's client refuses to wait for long answers without streaming.
assistant = Agent(MODEL, instructions="be kind", model_settings={"max_tokens": 1000})


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@assistant.tool_plain
@a_tool
def look_up(order: str, verbose: bool = False) -> dict[str, str]:
    """Looks an order up.

    Args:
        order: The order's number.
        verbose: Whether to say everything.
    """
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


@assistant.tool
@a_tool
async def refund(ctx: RunContext[None], order: str, amount: float) -> str:
    """Refunds an order."""
    assert ctx.tool_name == "refund"
    effect(f"refund {order} {amount}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


@an_agent
async def agent(question: str) -> str:
    if "streamed" in VARIANT:
        async with assistant.run_stream(question) as result:
            return [said async for said in result.stream_text(debounce_by=None)][-1]
    return (await assistant.run(question)).output


if __name__ == "__main__":
    if VARIANT == "without a loop":
        print(observe(assistant.run_sync)("Refund A1, please.").output)
    else:
        print(asyncio.run(agent("Refund A1, please.")))
