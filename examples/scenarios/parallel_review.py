"""Parallel review: three reviewers look at one change at the same time, and a fourth combines what they found.

    python examples/scenarios/parallel_review.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import asyncio
import os

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

CHANGE = """\
def orders_of(user):
    d = [query(f"select * from orders where user = '{user}' and id = {i}") for i in ids(user)]
    return d
"""
REVIEWERS = ("security", "performance", "readability")


class Review:
    def __init__(self, client: openai.AsyncOpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="review")
    async def review(self, change: str) -> str:
        found = await asyncio.gather(*(self.look_at(subject, change) for subject in REVIEWERS))
        listed = "\n".join(f"{subject}: {text}" for subject, text in zip(REVIEWERS, found, strict=True))
        return await self.ask("You combine the findings of several reviewers.", listed)

    @observe(kind="agent", name="reviewer")
    async def look_at(self, subject: str, change: str) -> str:
        return await self.ask(f"You review changes for {subject} only.", change)

    async def ask(self, system: str, user: str) -> str:
        answer = await self.client.chat.completions.create(
            model=self.model,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
        )
        return answer.choices[0].message.content or ""


def model_client() -> openai.AsyncOpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.AsyncOpenAI()
    mock = MockModelServer(scenario="parallel_review")
    return openai.AsyncOpenAI(api_key="none", http_client=mock.async_http_client())


async def main() -> None:
    playhead.instrument("openai")
    async with model_client() as client:
        print(await Review(client).review(CHANGE))


if __name__ == "__main__":
    asyncio.run(main())
