"""An agent of OpenAI Agents with two tools, as users write one; run by `test_framework_openai_agents.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.tool_context import ToolContext

import playhead
from playhead import observe

playhead.instrument()
# Alone, nothing is said about tools and agent: what is recorded is what instrumentation sees.
ALONE = "alone" in sys.argv[1]
a_tool: Any = (lambda function: function) if ALONE else observe(kind="tool")
an_agent: Any = (lambda function: function) if ALONE else observe
set_tracing_disabled(True)
VARIANT = sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@function_tool
@a_tool
def look_up(order: str, verbose: bool = False) -> dict[str, str]:
    """Looks an order up.

    Args:
        order: The order's number.
        verbose: Whether to say everything.
    """
    effect(f"look_up {order}")
    if "broken" in VARIANT:
        raise LookupError(f"no order {order}")
    return {"order": order, "status": "delayed"}


@function_tool
@a_tool
async def refund(ctx: ToolContext[Any], order: str, amount: float) -> str:
    """Refunds an order."""
    assert ctx.tool_name == "refund"
    effect(f"refund {order} {amount}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


assistant = Agent(name="support", instructions="be kind", model="m", tools=[look_up, refund])


@an_agent
async def agent(question: str) -> str:
    if "streamed" in VARIANT:
        result = Runner.run_streamed(assistant, question)
        async for _ in result.stream_events():
            pass
        return result.final_output
    by_server = VARIANT == "kept by the server"
    return (await Runner.run(assistant, question, auto_previous_response_id=by_server)).final_output


if __name__ == "__main__":
    assert look_up.params_json_schema["properties"]["order"]["description"] == "The order's number."
    assert set(refund.params_json_schema["properties"]) == {"order", "amount"}
    print(asyncio.run(agent("Refund A1, please.")))
