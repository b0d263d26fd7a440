"""Ticket routing: tickets are classified, and each category has a handler; uncertain ones go to the general one.

    python examples/scenarios/ticket_routing.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import json
import os

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

CLASSIFY = "Classify the ticket. Answer with a JSON object: category (billing, technical or general) and confidence."
HANDLERS = {
    "billing": "You answer billing questions of a small shop.",
    "technical": "You answer technical questions about the shop's app.",
    "general": "You answer general questions of a small shop's customers.",
}
MIN_CONFIDENCE = 0.5
TICKETS = (
    "I was charged twice for order A1001.",
    "The app says error 17 when I want to log in.",
    "When are you open?",
)


class TicketRouter:
    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="ticket_router")
    def handle(self, ticket: str) -> str:
        found = json.loads(self.ask(CLASSIFY, ticket))
        category = found["category"] if found["confidence"] >= MIN_CONFIDENCE else "general"
        reason = f"classified as {found['category']} with {found['confidence']:.0%}"
        playhead.annotate(decision=f"route to {category}", reason=reason, alternatives=list(HANDLERS))
        playhead.handoff(category)
        with observe(category, kind="agent") as call:
            reply = self.ask(HANDLERS[category], ticket)
            call.output(reply)
        return reply

    def ask(self, system: str, user: str) -> str:
        answer = self.client.chat.completions.create(
            model=self.model,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
        )
        return answer.choices[0].message.content or ""


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="ticket_routing")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        router = TicketRouter(client)
        for ticket in TICKETS:
            print(f"{ticket}\n  {router.handle(ticket)}")


if __name__ == "__main__":
    main()
