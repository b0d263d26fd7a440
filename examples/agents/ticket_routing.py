"""Ticket routing with a task and agents: tickets are classified, and each category has an agent.

    pip install 'playhead[agent,openai]'
    python examples/agents/ticket_routing.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import os
from typing import Literal

import openai
from pydantic import BaseModel, Field

import playhead
from playhead.models import Model, OpenAIModel
from playhead.testing import MockModelServer

TICKETS = (
    "I was charged twice for order A1001.",
    "The app says error 17 when I want to log in.",
    "When are you open?",
)
HANDLERS = {
    "billing": "You answer billing questions of a small shop.",
    "technical": "You answer technical questions about the shop's app.",
    "general": "You answer general questions of a small shop's customers.",
}
MIN_CONFIDENCE = 0.5


class Ticket(BaseModel):
    category: Literal["billing", "technical", "general"]
    confidence: float = Field(ge=0, le=1)


def solve(model: Model) -> str:
    """Two model calls for each ticket: one to classify it, one of the agent that handles it."""
    classify = playhead.LlmTask("classify", model=model, system="You classify tickets.", output=Ticket)
    agents = {
        name: playhead.Agent(name=name, instructions=instructions, model=model)
        for name, instructions in HANDLERS.items()
    }
    replies: list[str] = []
    with playhead.run("ticket_routing"):
        for text in TICKETS:
            ticket: Ticket = classify(text).parsed
            category = ticket.category if ticket.confidence >= MIN_CONFIDENCE else "general"
            reason = f"classified as {ticket.category} with {ticket.confidence:.0%}"
            playhead.annotate(decision=f"route to {category}", reason=reason, alternatives=list(HANDLERS))
            playhead.handoff(category)
            replies.append(agents[category].run_sync(text).response)
    return "\n".join(replies)


def model() -> Model:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return OpenAIModel("gpt-4o-mini")
    mock = MockModelServer(scenario="ticket_routing")
    return OpenAIModel("gpt-4o-mini", client=openai.OpenAI(api_key="none", http_client=mock.http_client()))


if __name__ == "__main__":
    print(solve(model()))
