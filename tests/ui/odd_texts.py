"""A run whose every text is hostile to a page: turned around, HTML, without a space, or very long. It prints its id."""

import contextlib
import sys

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text
from tests.ui.scored_runs import RIGHT_TO_LEFT

NO_SPACES = "nospaces" * 40_000
HTML = "<img src=x onerror=alert(1)>"
TAGS = [f"{RIGHT_TO_LEFT}tag:{'t' * 200}", HTML, *(f"tag{number}" for number in range(40))]


@observe(kind="tool")
def lookup(what: str) -> str:
    raise LookupError(f"{RIGHT_TO_LEFT}{HTML} {NO_SPACES}")


@observe(kind="agent", name=f"odd{RIGHT_TO_LEFT}{HTML}")
def odd(client: openai.OpenAI) -> None:
    question = f"{RIGHT_TO_LEFT}{HTML} {NO_SPACES}"
    client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": question}])


if __name__ == "__main__":
    playhead.instrument("openai")
    with MockModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        server.otherwise(text(f"{RIGHT_TO_LEFT}{NO_SPACES}"))
        name = f"{RIGHT_TO_LEFT}{HTML} {'n' * 300}"
        with contextlib.suppress(LookupError), playhead.run(name, tags=TAGS, user=f"{RIGHT_TO_LEFT}ada") as run:
            sys.stdout.write(f"{run.id}\n")
            sys.stdout.flush()
            odd(client)
            run.state["k" * 400] = RIGHT_TO_LEFT
            playhead.score("score" * 12, 0.0)
            lookup(f"{RIGHT_TO_LEFT}{NO_SPACES}")
    playhead.flush()
