"""Code review: security, performance and style are looked at side by side; each review is a score and a list of issues.

    python examples/scenarios/code_review.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import asyncio
import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

CHANGE = """\
def orders_of(user):
    d = [query(f"select * from orders where user = '{user}' and id = {i}") for i in ids(user)]
    return d
"""
SUBJECTS = ("security", "performance", "style")
SYSTEM = (
    "You review changes for {subject} only. Answer with a JSON object: score (0 to 10) and issues, each with severity, "
    "type, line, description and fix."
)


class CodeReview:
    def __init__(self, client: openai.AsyncOpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="code_review")
    async def review(self, change: str) -> dict[str, dict[str, Any]]:
        """Returns the review for each subject: `score`, and `issues`."""
        reviews = await asyncio.gather(*(self.look_at(subject, change) for subject in SUBJECTS))
        return dict(zip(SUBJECTS, reviews, strict=True))

    @observe(kind="agent", name="reviewer")
    async def look_at(self, subject: str, change: str) -> dict[str, Any]:
        answer = await self.client.chat.completions.create(
            model=self.model,
            messages=[
                {"role": "system", "content": SYSTEM.format(subject=subject)},
                {"role": "user", "content": change},
            ],
        )
        review: dict[str, Any] = json.loads(answer.choices[0].message.content or "{}")
        return review


def model_client() -> openai.AsyncOpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.AsyncOpenAI()
    mock = MockModelServer(scenario="code_review")
    return openai.AsyncOpenAI(api_key="none", http_client=mock.async_http_client())


async def main() -> None:
    playhead.instrument("openai")
    async with model_client() as client:
        for subject, review in (await CodeReview(client).review(CHANGE)).items():
            print(f"{subject}: {review['score']} of 10")
            for issue in review["issues"]:
                print(f"  {issue['severity']}, line {issue['line']}: {issue['description']} {issue['fix']}")


if __name__ == "__main__":
    asyncio.run(main())
