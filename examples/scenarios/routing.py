"""Routing: support tickets are classified, and each class is answered by an agent of its own.

    python examples/scenarios/routing.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import os

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

CLASSIFY = "Classify the ticket as billing, technical or general. Answer with one word."
AGENTS = {
    "billing": "You answer billing questions of a small shop.",
    "technical": "You answer technical questions about the shop's app.",
    "general": "You are the support agent of a small shop.",
}
TICKETS = (
    "I was charged twice for order A1001.",
    "The app says error 17 when I want to log in.",
    "When are you open?",
)


class Router:
    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="router")
    def handle(self, ticket: str) -> str:
        kind = self.ask(CLASSIFY, ticket)
        agent = kind if kind in AGENTS else "general"
        playhead.annotate(decision=f"route to {agent}", reason=f"classified as {kind}", alternatives=list(AGENTS))
        playhead.handoff(agent)
        with observe(agent, kind="agent") as call:
            reply = self.ask(AGENTS[agent], ticket)
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
    mock = MockModelServer(scenario="routing")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        router = Router(client)
        for ticket in TICKETS:
            print(router.handle(ticket))


if __name__ == "__main__":
    main()
