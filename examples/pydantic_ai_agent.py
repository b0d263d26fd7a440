"""A pydantic-ai agent on Anthropic's model: a tool, a structured answer that a validator checks, a tool that waits.

    python examples/pydantic_ai_agent.py

A scripted model answers, unless ANTHROPIC_BASE_URL names another endpoint. Start `playhead serve` to receive what is
recorded.
"""

import asyncio
import os
from typing import Any

from anthropic import AsyncAnthropic
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

import playhead
from playhead.testing import MockModelServer, tool_call, tool_result_received


class Reply(BaseModel):
    """What the agent comes to."""

    order: str
    refunded: float


def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    return {"order": order, "status": "delayed by two days"}


def refund(order: str, amount: float) -> str:
    """Refunds an order."""
    return f"refunded {amount:.2f} for {order}"


def is_sensible(reply: Reply | DeferredToolRequests) -> Reply | DeferredToolRequests:
    """Checks an answer."""
    if isinstance(reply, Reply) and reply.refunded > 100:
        raise ModelRetry("at most 100 can be refunded")
    return reply


def support_agent(client: AsyncAnthropic) -> Agent[None, Any]:
    """An agent with two tools, one of which needs a person's approval."""
    model = AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(anthropic_client=client))
    agent: Any = Agent(
        model,
        name="support",
        instructions="Be kind.",
        output_type=[Reply, DeferredToolRequests],
        model_settings={"max_tokens": 1000},
    )
    agent.tool_plain(look_up)
    agent.tool_plain(requires_approval=True)(refund)
    agent.output_validator(is_sensible)
    supporting: Agent[None, Any] = agent
    return supporting


async def main() -> None:
    """Asks for a refund; a person approves it."""
    with MockModelServer() as server:
        server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.when(~tool_result_received("refund"), tool_call("refund", {"order": "A1", "amount": 5}))
        server.otherwise(tool_call("final_result", {"order": "A1", "refunded": 5}))
        base_url = os.environ.get("ANTHROPIC_BASE_URL", server.url)
        async with AsyncAnthropic(base_url=base_url, api_key=os.environ.get("ANTHROPIC_API_KEY", "none")) as client:
            agent = support_agent(client)
            waiting = await agent.run("A1 is late, I want 5 back.")
            if isinstance(waiting.output, DeferredToolRequests):
                approved = DeferredToolResults(approvals={call.tool_call_id: True for call in waiting.output.approvals})
                print("approved:", *(call.tool_name for call in waiting.output.approvals))
                done = await agent.run(message_history=waiting.all_messages(), deferred_tool_results=approved)
                print(done.output)


if __name__ == "__main__":
    playhead.instrument()
    asyncio.run(main())
