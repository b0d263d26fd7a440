"""The agent of examples/support_agent.py, with Playhead's own loop: looks up, refunds, and writes to the customer.

    pip install 'playhead[agent,openai]'
    python examples/agents/support_agent.py

It talks to whatever OPENAI_BASE_URL and OPENAI_API_KEY name, or, when neither is set, to a mock model that says what is
written at the end of this file: no key, no network.
"""

import os
from typing import Any

import openai

import playhead
from playhead import AgentContext, Ask
from playhead.models import Model, OpenAIModel
from playhead.testing import MockModelServer, Script, contains, text, thinking, tool_call, tool_calls, tool_requested

SYSTEM = (
    "You are the support agent of a small shop. Look things up before you answer, promise nothing that a tool has not "
    "confirmed, and be brief and kind."
)
WRITE = "Now write the reply to the customer."
TASK = "Order A1001 has not arrived, and I was charged twice for it. Where is it, and can I have my money back?"

# --- tools -----------------------------------------------------------------------------------------------------------

ORDERS: dict[str, dict[str, Any]] = {
    "A1001": {"order": "A1001", "item": "walnut desk lamp", "total": 89.0, "charged": [89.0, 89.0], "parcel": "P-77"}
}


@playhead.tool(writes=False)
def look_up_order(order: str) -> dict[str, Any]:
    """What was ordered, what it costs, and what was charged."""
    return ORDERS[order]


@playhead.tool(writes=False)
def track_parcel(order: str) -> dict[str, Any]:
    """Where an order's parcel is."""
    return {"order": order, "parcel": "P-77", "status": "delayed", "expected": "Thursday"}


@playhead.tool(writes=True)
def refund(order: str, amount: float) -> dict[str, Any]:
    """Pay back an amount that was charged for an order."""
    paid, due = sum(ORDERS[order]["charged"]), ORDERS[order]["total"]
    if amount > paid - due:
        raise ValueError(f"at most {paid - due:.2f} can be refunded: {due:.2f} is what the item costs")
    return {"order": order, "refunded": amount}


# --- the agent -------------------------------------------------------------------------------------------------------


def support_agent(model: Model) -> playhead.Agent:
    """Calls the model until it asks for no more tools, then has it write the reply. A tool that fails tells the model
    why."""
    agent = playhead.Agent(
        name="support_agent", model=model, instructions=SYSTEM, tools=[look_up_order, track_parcel, refund]
    )

    @agent.execute
    async def answer(context: AgentContext[None], ask: Ask) -> str:
        context.add("user", ask.prompt)
        while not (message := await context.call()).done:
            for call in message.tool_calls:
                await context.execute(call)
            playhead.checkpoint({"messages": len(context.messages)})
        context.add("user", WRITE)
        return (await context.call()).text

    return agent


def solve(model: Model) -> str:
    """Five model calls, four tool calls, one of which fails."""
    return support_agent(model).run_sync(TASK, session="conversation-42").response


# --- a script that plays the model, for those without one ------------------------------------------------------------

REPLY = (
    "I am sorry for the trouble! Your walnut desk lamp is delayed and should arrive on Thursday. You were charged "
    "twice by mistake; the second charge of 89.00 is on its way back to you."
)
FACTS = tool_calls(tool_call("look_up_order", {"order": "A1001"}), tool_call("track_parcel", {"order": "A1001"}))
TOO_MUCH = tool_call("refund", {"order": "A1001", "amount": 178.0})
LESS = tool_call("refund", {"order": "A1001", "amount": 89.0})
SCRIPT = (
    Script()
    .when(contains(WRITE, role="user", last=True), thinking("Kind, brief, and only what is confirmed.") + text(REPLY))
    .when(~tool_requested("look_up_order"), thinking("Two questions: the parcel and the money.") + FACTS)
    .when(~tool_requested("refund"), thinking("Charged twice, so everything goes back.") + TOO_MUCH)
    .when(~contains('"refunded"', role="tool"), thinking("Only the second charge, then.") + LESS)
    .otherwise(
        thinking("Both questions are answered.")
        + text("Refunded 89.00, the second charge. The parcel is delayed and expected on Thursday.")
    )
)


def model() -> Model:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return OpenAIModel("gpt-4o-mini")
    http_client = MockModelServer(script=SCRIPT).http_client()
    return OpenAIModel("gpt-4o-mini", client=openai.OpenAI(api_key="none", http_client=http_client))


if __name__ == "__main__":
    print(solve(model()))
