"""Several agents of OpenAI Agents: a guardrail's, one that hands off, one that takes over, one used as a tool, twice at
once; run by `test_framework_agents.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    GuardrailFunctionOutput,
    RunContextWrapper,
    Runner,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)

import playhead
from playhead import observe

playhead.instrument()
set_tracing_disabled(True)
VARIANT = sys.argv[1]
an_entry: Any = (lambda function: function) if "alone" in VARIANT else observe


@function_tool
def refund(order: str) -> str:
    """Refunds an order."""
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"refund {order}\n")
    return "refunded"


guard = Agent(name="guard", instructions="GUARD", model="m")
expert = Agent(name="expert", instructions="EXPERT", model="m")


@input_guardrail(run_in_parallel=False)
async def check(context: RunContextWrapper[Any], agent: Agent[Any], asked: Any) -> GuardrailFunctionOutput:
    said = (await Runner.run(guard, asked)).final_output
    return GuardrailFunctionOutput(output_info=said, tripwire_triggered=said != "fine")


billing = Agent(
    name="billing",
    instructions="BILLING",
    model="m",
    tools=[expert.as_tool("ask_expert", "Asks the expert."), refund],
)
triage = Agent(name="triage", instructions="TRIAGE", model="m", handoffs=[billing], input_guardrails=[check])


@an_entry
async def entry(question: str) -> str:
    if "streamed" in VARIANT:
        result = Runner.run_streamed(triage, question)
        async for _ in result.stream_events():
            pass
        return result.final_output
    return (await Runner.run(triage, question)).final_output


if __name__ == "__main__":
    print(asyncio.run(entry("Refund A1 and B2.")))
