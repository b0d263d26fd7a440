"""OpenAI Agents: a desk that hands over to billing, with a guardrail; and a model of one's own behind one of them.

    python examples/openai_agents_agent.py

A scripted model answers, unless OPENAI_BASE_URL and OPENAI_API_KEY name another one. Start `playhead serve` to receive
what is recorded.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    GuardrailFunctionOutput,
    ModelResponse,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)
from agents.models.interface import Model
from agents.usage import Usage
from openai import AsyncOpenAI
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_result_received


@function_tool
def refund(order: str, amount: float) -> str:
    """Refunds an order."""
    return f"refunded {amount:.2f} for {order}"


@input_guardrail(run_in_parallel=False)
def is_about_orders(_context: Any, _agent: Any, question: Any) -> GuardrailFunctionOutput:
    """A check without a model."""
    return GuardrailFunctionOutput({"orders": "A1" in str(question)}, tripwire_triggered="A1" not in str(question))


class Parrot(Model):
    """A model that runs on no client that Playhead knows: it is recorded where the framework calls it."""

    async def get_response(self, *given: Any, **options: Any) -> ModelResponse:
        """Says the last thing again, shorter."""
        said = ResponseOutputText(type="output_text", text="Refunded. Goodbye!", annotations=[])
        message = ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[said])
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
        """Does not stream."""
        raise NotImplementedError


async def support(client: AsyncOpenAI) -> str:
    """Two agents on a hosted model, then one on the parrot."""
    model = OpenAIChatCompletionsModel(model="gpt-4o-mini", openai_client=client)
    billing = Agent(name="billing", instructions="You refund.", tools=[refund], model=model)
    desk = Agent(
        name="desk", instructions="You triage.", handoffs=[billing], input_guardrails=[is_about_orders], model=model
    )
    done = await Runner.run(desk, "A1 is late, I want 5 back.")
    short = await Runner.run(Agent(name="parrot", model=Parrot()), done.final_output)
    return f"{done.final_output} | {short.final_output}"


async def main() -> None:
    """Asks for a refund."""
    set_tracing_disabled(True)
    with MockModelServer() as server:
        server.when(~tool_result_received("transfer_to_billing"), tool_call("transfer_to_billing", {}))
        server.when(~tool_result_received("refund"), tool_call("refund", {"order": "A1", "amount": 5}))
        server.otherwise(text("You get 5.00 back for order A1."))
        base_url, key = os.environ.get("OPENAI_BASE_URL", server.base_url), os.environ.get("OPENAI_API_KEY", "none")
        async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
            with playhead.run("support", session="order-A1"):
                print(await support(client))


if __name__ == "__main__":
    playhead.instrument()
    asyncio.run(main())
