"""A run of more than 20,000 events with 1,000 turns, and a word that stands in one of its results only."""

import json
from functools import reduce
from operator import add
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, tool_call

TURNS = 1_000
SAMPLES = 10
"""Read in each turn; each reading is two events."""
AT = 7_741
WORD = "quartzite"


@observe(kind="tool")
def read_sample(number: int) -> str:
    return f"sample {number}: {WORD if number == AT else 'basalt'}, {number % 97} mm"


@observe(kind="agent", name="surveyor")
def survey(client: openai.OpenAI) -> None:
    for first in range(0, TURNS * SAMPLES, SAMPLES):
        question = f"Which of the samples {first} to {first + SAMPLES - 1} are worth a closer look?"
        answer = client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": question}])
        for call in answer.choices[0].message.tool_calls or ():
            function: Any = getattr(call, "function", None)
            read_sample(**json.loads(function.arguments))


def read_all(first: int) -> Any:
    """The model's answer: it asks for each of the samples."""
    return reduce(add, (tool_call("read_sample", {"number": first + each}) for each in range(SAMPLES)))


if __name__ == "__main__":
    playhead.instrument("openai")
    firsts = iter(range(0, TURNS * SAMPLES, SAMPLES))
    with MockModelServer() as server:
        server.otherwise(lambda _: read_all(next(firsts)))
        with openai.OpenAI(base_url=server.base_url, api_key="none") as client, playhead.run("survey"):
            survey(client)
    playhead.flush()
