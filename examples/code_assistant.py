"""A code assistant with an agent: it searches, reads and answers, and asks a person before each look at the files.

    pip install 'playhead[agent,openai]'
    python examples/code_assistant.py

It works on a small project in a temporary folder, with tools of `tools.py`, which stands beside this file. With
OPENAI_BASE_URL or OPENAI_API_KEY it talks to that model, and `playhead promises` lists what it asks, `playhead approve`
and `playhead deny` answer. Without them, a mock model plays this scenario, and a thread plays the person.
"""

import os
import tempfile
from pathlib import Path

import openai
from tools import Workspace, person_who_approves

import playhead
from playhead.models import Model, OpenAIModel
from playhead.testing import MockModelServer

QUESTION = "Why are prices with a discount wrong?"
PROJECT = {
    "shop/orders.py": "from shop.prices import discounted\n",
    "shop/prices.py": "def discounted(total: float, discount: float) -> float:\n    return total * discount\n",
}


def assistant(model: Model, root: Path) -> playhead.Agent:
    """An agent whose every tool call waits for an approval."""
    workspace = Workspace(root)
    return playhead.Agent(
        name="code_assistant",
        model=model,
        instructions="You are a code assistant. Look before you answer.",
        tools=[workspace.search, workspace.read_file],
        approval="all",
    )


def solve(model: Model) -> str:
    """Three model calls, two tools, three turns."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROJECT.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return assistant(model, Path(folder)).run_sync(QUESTION).response


def main() -> None:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        print(solve(OpenAIModel("gpt-4o-mini")))
        return
    mock = MockModelServer(scenario="code_assistant")
    client = openai.OpenAI(api_key="none", http_client=mock.http_client())
    with playhead.run("code_assistant") as run, person_who_approves(run.id, "search", "read_file"):
        print(solve(OpenAIModel("gpt-4o-mini", client=client)))


if __name__ == "__main__":
    main()
