"""Runs of one agent for questions across them: 6 that refund and succeed, 6 that guess and fail."""

import contextlib

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text

TASKS = 3


@observe(kind="tool")
def look_up(order: str) -> str:
    return f"order {order}: lost"


@observe(kind="tool")
def refund(order: str) -> str:
    return f"refunded {order}"


@observe(kind="tool")
def guess(order: str) -> str:
    raise LookupError(f"nobody knows {order}")


def triage(number: int, client: openai.OpenAI) -> None:
    order = f"A{number % TASKS}"
    with playhead.run("triage", tags=[f"task:{number % TASKS}"]):
        client.chat.completions.create(
            model="gpt-4o-mini",
            messages=[
                {"role": "system", "content": "You triage orders: look each one up, and refund what is lost."},
                {"role": "user", "content": f"Where is {order}?"},
            ],
        )
        look_up(order)
        (refund if number < 2 * TASKS else guess)(order)


if __name__ == "__main__":
    playhead.instrument()
    with MockModelServer() as server:
        server.otherwise(text("I look it up."))
        for each in range(4 * TASKS):
            with contextlib.suppress(LookupError):
                triage(each, openai.OpenAI(base_url=server.base_url, api_key="none"))
    playhead.flush()
