"""Code review with tasks side by side: security, performance and style, each with a score and a list of issues.

    pip install 'playhead[agent,openai]'
    python examples/agents/code_review.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import asyncio
import os
from typing import Literal

import openai
from pydantic import BaseModel, Field

import playhead
from playhead.models import Model, OpenAIModel
from playhead.testing import MockModelServer

CHANGE = """\
def orders_of(user):
    d = [query(f"select * from orders where user = '{user}' and id = {i}") for i in ids(user)]
    return d
"""
SUBJECTS = ("security", "performance", "style")


class Issue(BaseModel):
    severity: Literal["low", "medium", "high"]
    type: str
    line: int
    description: str
    fix: str


class Review(BaseModel):
    score: int = Field(ge=0, le=10)
    issues: list[Issue]


async def review(model: Model) -> dict[str, Review]:
    """Three model calls at the same time."""
    tasks = [
        playhead.LlmTask(subject, model=model, system=f"You review changes for {subject} only.", output=Review)
        for subject in SUBJECTS
    ]
    async with playhead.run("code_review"):
        answers = await asyncio.gather(*(task.run(CHANGE) for task in tasks))
    return dict(zip(SUBJECTS, (answer.parsed for answer in answers), strict=True))


def solve(model: Model) -> str:
    lines: list[str] = []
    for subject, found in asyncio.run(review(model)).items():
        lines.append(f"{subject}: {found.score} of 10")
        lines += [f"  {issue.severity}, line {issue.line}: {issue.description} {issue.fix}" for issue in found.issues]
    return "\n".join(lines)


def model() -> Model:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return OpenAIModel("gpt-4o-mini")
    mock = MockModelServer(scenario="code_review")
    return OpenAIModel("gpt-4o-mini", client=openai.OpenAI(api_key="none", http_client=mock.http_client()))


if __name__ == "__main__":
    print(solve(model()))
