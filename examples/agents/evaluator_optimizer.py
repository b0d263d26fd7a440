"""Evaluator and optimizer with tasks: one writes, another one judges, until it passes or the attempts are used up.

    pip install 'playhead[agent,openai]'
    python examples/agents/evaluator_optimizer.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import os

import openai
from pydantic import BaseModel

import playhead
from playhead.models import Model, OpenAIModel
from playhead.testing import MockModelServer

PRODUCT = "a walnut desk lamp with warm light"
ATTEMPTS = 3


class Verdict(BaseModel):
    passed: bool
    feedback: str


def solve(model: Model) -> str:
    """Four model calls: a draft that fails, its verdict, a better draft, and the verdict that it passes."""
    write = playhead.LlmTask("write", model=model, system="You write advertisements of one sentence.")
    evaluate = playhead.LlmTask("evaluate", model=model, system="You evaluate advertisements.", output=Verdict)
    with playhead.run("evaluator_optimizer"):
        draft = write(f"About {PRODUCT}.").content
        for _ in range(ATTEMPTS):
            verdict: Verdict = evaluate(draft).parsed
            if verdict.passed:
                break
            draft = write(f"About {PRODUCT}.\nBetter than this: {draft}\nbecause of: {verdict.feedback}").content
    return draft


def model() -> Model:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return OpenAIModel("gpt-4o-mini")
    mock = MockModelServer(scenario="evaluator_optimizer")
    return OpenAIModel("gpt-4o-mini", client=openai.OpenAI(api_key="none", http_client=mock.http_client()))


if __name__ == "__main__":
    print(solve(model()))
