"""What if that step had gone otherwise? A recorded run, forked with another outcome.

    python examples/what_if.py

Up to the step, a fork is answered from the record: nothing is asked and nothing is done again. There it gets the other
outcome, and from there it goes on, as a run of its own. Nothing is set up for this: models are answered by a server of
its own, and no collector runs.
"""

import logging
import os
import tempfile
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, text


@observe(kind="tool")
def stock(item: str) -> int:
    print(f"  (looking up the stock of {item})")
    return 3


@observe(kind="tool")
def order(item: str) -> str:
    print(f"  (ordering {item})")
    return f"{item} is on its way"


@observe
def agent(client: openai.OpenAI, item: str) -> str:
    try:
        found: Any = f"in stock: {stock(item)}"
    except TimeoutError as error:
        found = f"the shop does not answer: {error}"
    asked: Any = [{"role": "user", "content": f"{found}. Should I order the {item}? Answer yes or no."}]
    answer = client.chat.completions.create(model="gpt-4o-mini", messages=asked).choices[0].message.content
    return order(item) if answer == "yes" else f"not ordered: the model said {answer}"


def shop(server: MockModelServer) -> str:
    with playhead.run("shop"), openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        return agent(client, "lamp")


def main() -> None:
    """Records a run, and forks it three times."""
    with MockModelServer() as server:
        server.when(contains("in stock: 3"), text("yes"))
        server.otherwise(text("no"))
        print("as it went:")
        with playhead.run("shop") as run, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
            print(" ", agent(client, "lamp"))
        assert run.id is not None
        print("what if the shop had not answered?")
        with playhead.fork(run.id, at="stock", outcome={"error": TimeoutError("30 s")}):
            print(" ", shop(server))
        print("what if nothing had been left?")
        with playhead.fork(run.id, at="stock", outcome={"result": 0}):
            print(" ", shop(server))
        print("what if the model had said no? (no tool is executed)")
        with playhead.fork(run.id, at="chat", outcome={"message": {"content": "no"}}, live="llm"):
            print(" ", shop(server))
        print(f"the model was asked {len(server.requests)} times in all")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as journal:
        if not {"PLAYHEAD_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} & os.environ.keys():
            logging.getLogger("playhead").setLevel(logging.ERROR)  # it would warn that nobody is there
            os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
            os.environ["PLAYHEAD_EXIT_TIMEOUT_SECONDS"] = "0.1"
        playhead.configure(journal_dir=journal)
        playhead.instrument("openai")
        main()
        playhead.shutdown()
