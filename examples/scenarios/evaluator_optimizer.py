"""Evaluator and optimizer: one model writes, another one judges, until it passes or the attempts are used up.

    python examples/scenarios/evaluator_optimizer.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

PRODUCT = "a walnut desk lamp with warm light"
ATTEMPTS = 3


@observe
class Copywriter:
    """Its public methods are recorded; `ask` is called inside them."""

    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    def advertise(self, product: str) -> str:
        draft = self.write(product, "")
        for _ in range(ATTEMPTS):
            verdict = self.evaluate(draft)
            if verdict["passed"]:
                break
            draft = self.write(product, f"\nBetter than this: {draft}\nbecause of: {verdict['feedback']}")
        return draft

    def write(self, product: str, feedback: str) -> str:
        return self._ask("You write advertisements of one sentence.", f"About {product}.{feedback}")

    def evaluate(self, draft: str) -> dict[str, Any]:
        verdict: dict[str, Any] = json.loads(
            self._ask("You evaluate advertisements. Answer with a JSON object: passed (a boolean) and feedback.", draft)
        )
        return verdict

    def _ask(self, system: str, user: str) -> str:
        answer = self.client.chat.completions.create(
            model=self.model,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
        )
        return answer.choices[0].message.content or ""


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="evaluator_optimizer")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        print(Copywriter(client).advertise(PRODUCT))


if __name__ == "__main__":
    main()
