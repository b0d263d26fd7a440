"""Errors with an agent: a rate limit, a context that is too long, arguments that are no object, a late answer.

    pip install 'playhead[agent,openai]'
    python examples/agents/errors.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario. The
client tries nothing again by itself here, so that each failed call is seen, and recorded. The agent shortens a context
that the provider finds too long, and tells the model what is wrong with its arguments; the program does the rest.
"""

import os
import time

import openai

import playhead
from playhead.context import Compression, Keep, SlidingWindow
from playhead.models import Model, OpenAIModel, RateLimited, failure_of
from playhead.testing import MockModelServer

# Much less than the 120 seconds that the mock model takes for a report.
TIMEOUT_SECONDS = 1.5
LONG_CHAT = [{"role": "user", "content": f"Note {number}: {'all is well. ' * 60}"} for number in range(30)]
REQUESTS = (
    playhead.Ask("How many were sold today? Mind the rate limit."),
    playhead.Ask("How many were sold today?", messages=LONG_CHAT),
    playhead.Ask("Where is my order A1001?"),
    playhead.Ask("Please write a report."),
)


@playhead.tool(writes=False)
def look_up_order(order: str) -> dict[str, str]:
    """The status of an order."""
    return {"order": order, "status": "on its way"}


def answer(agent: playhead.Agent, request: playhead.Ask) -> str:
    """The agent's answer, after waiting as long as the provider wants."""
    while True:
        try:
            return agent.run_sync(request).response
        except openai.APITimeoutError:
            playhead.annotate(decision="answer without the model", reason="it took too long")
            return "That takes too long; I shall send it by mail."
        except openai.APIStatusError as error:
            failure = failure_of(error)
            if not isinstance(failure, RateLimited):
                raise
            seconds = failure.retry_after_s or 1
            playhead.annotate(decision="ask again", reason=f"rate limit, {seconds:g} s to wait")
            time.sleep(seconds)


def solve(model: Model) -> str:
    """Four requests, of which each meets one error: five answers of the model, and three failed calls."""
    short = Compression(strategy=SlidingWindow(10), keep=Keep(messages=10))
    agent = playhead.Agent(name="shop_assistant", model=model, tools=[look_up_order], compression=short)
    with playhead.run("errors"):
        return "\n".join(answer(agent, request) for request in REQUESTS)


def model() -> Model:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return OpenAIModel("gpt-4o-mini", client=openai.OpenAI(max_retries=0, timeout=TIMEOUT_SECONDS))
    http_client = MockModelServer(scenario="errors").http_client()
    client = openai.OpenAI(api_key="none", http_client=http_client, max_retries=0, timeout=TIMEOUT_SECONDS)
    return OpenAIModel("gpt-4o-mini", client=client)


if __name__ == "__main__":
    print(solve(model()))
