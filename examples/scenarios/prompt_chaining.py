"""Prompt chaining: a contract is processed in steps, each with the result of the one before.

    python examples/scenarios/prompt_chaining.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

CONTRACT = (
    "Northwind lets an office to Contoso for two years, at 1200 a month. Either side may end this agreement by giving "
    "ninety days' notice in writing."
)


class DocumentPipeline:
    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="document_pipeline")
    def process(self, document: str) -> str:
        facts = self.extract(document)
        if self.ask(f"Check that these facts are complete; answer complete or incomplete.\n{facts}") != "complete":
            raise ValueError(f"the facts are incomplete: {facts}")
        return self.translate(self.summarize(facts))

    @observe
    def extract(self, document: str) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.ask(f"Extract the facts from this contract as JSON.\n{document}"))
        return facts

    @observe
    def summarize(self, facts: dict[str, Any]) -> str:
        return self.ask(f"Summarize these facts in one sentence.\n{json.dumps(facts)}")

    @observe
    def translate(self, summary: str) -> str:
        return self.ask(f"Translate this into German.\n{summary}")

    def ask(self, prompt: str) -> str:
        answer = self.client.chat.completions.create(model=self.model, messages=[{"role": "user", "content": prompt}])
        return answer.choices[0].message.content or ""


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="prompt_chaining")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        print(DocumentPipeline(client).process(CONTRACT))


if __name__ == "__main__":
    main()
