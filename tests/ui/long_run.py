"""A run of more than 20,000 events, and a word that stands in one of its results only."""

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text

CALLS = 10_000
"""Each one has two events."""
AT = 7_741
WORD = "quartzite"


@observe(kind="tool")
def read_sample(number: int) -> str:
    return f"sample {number}: {WORD if number == AT else 'basalt'}, {number % 97} mm"


@observe(kind="agent", name="surveyor")
def survey(client: openai.OpenAI) -> str:
    first = client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": "Which samples are worth a closer look?"}]
    )
    for number in range(CALLS):
        read_sample(number)
    return first.choices[0].message.content or ""


if __name__ == "__main__":
    playhead.instrument("openai")
    with MockModelServer() as server:
        server.otherwise(text("I read all of them."))
        with openai.OpenAI(base_url=server.base_url, api_key="none") as client, playhead.run("survey"):
            survey(client)
    playhead.flush()
