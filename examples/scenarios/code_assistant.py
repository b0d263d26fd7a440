"""A code assistant that searches, reads and answers, and asks a person before each look at the files.

    python examples/scenarios/code_assistant.py

It works on a small project in a temporary folder. With OPENAI_BASE_URL or OPENAI_API_KEY it talks to that model, and
`playhead promises` lists what it asks, `playhead approve` and `playhead deny` answer. Without them, a mock model plays
this scenario, and a thread plays the person.
"""

import json
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

SYSTEM = "You are a code assistant. Look before you answer."
QUESTION = "Why are prices with a discount wrong?"
PROJECT = {
    "shop/orders.py": "from shop.prices import discounted\n",
    "shop/prices.py": "def discounted(total: float, discount: float) -> float:\n    return total * discount\n",
}


class ProjectTools:
    """What the model may do with the files below `root`, after a person approved it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @observe(kind="tool", approval="always")
    def search(self, text: str) -> list[str]:
        files = sorted(path for path in self.root.rglob("*.py") if text in path.read_text(encoding="utf-8"))
        return [path.relative_to(self.root).as_posix() for path in files]

    @observe(kind="tool", approval="always")
    def read_file(self, path: str) -> str:
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root):
            raise PermissionError(f"{path} is outside of the project")
        return file.read_text(encoding="utf-8")


def definition(name: str, description: str, argument: str) -> Any:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


DEFINITIONS = [
    definition("search", "Names of the files with this text.", "text"),
    definition("read_file", "A file's text.", "path"),
]


class CodeAssistant:
    def __init__(self, client: openai.OpenAI, tools: ProjectTools, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.tools = tools
        self.model = model

    @observe(kind="agent", name="code_assistant")
    def answer(self, question: str) -> str:
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
        while True:
            completion = self.client.chat.completions.create(model=self.model, messages=messages, tools=DEFINITIONS)
            message: Any = completion.choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages.append(message.model_dump(exclude_none=True, exclude={"reasoning_content"}))
            for call in message.tool_calls:
                result = self.call(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def call(self, name: str, arguments: str) -> str:
        try:
            return json.dumps(getattr(self.tools, name)(**json.loads(arguments)))
        except playhead.Denied as denied:
            return f"denied: {denied}"
        except (OSError, ValueError, TypeError) as error:
            return f"error: {error}"


@contextmanager
def person_who_approves(run: str | None) -> Iterator[None]:
    """Approves what this run asks, in a thread; elsewhere a person does, in the web UI or by `playhead approve`."""
    done = threading.Event()

    def approve() -> None:
        while not done.wait(0.05):
            for promise in playhead.open_promises():
                if promise["run"] == run and promise["name"] in ("search", "read_file"):
                    print(f"  approved: {promise['name']}({promise['details']})")
                    playhead.approve(promise, by="the example")

    person = threading.Thread(target=approve)
    person.start()
    try:
        yield
    finally:
        done.set()
        person.join()


def main() -> None:
    playhead.instrument("openai")
    with tempfile.TemporaryDirectory() as folder, playhead.run("code_assistant") as run:
        for name, text in PROJECT.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        tools = ProjectTools(Path(folder))
        if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
            with openai.OpenAI() as client:
                print(CodeAssistant(client, tools).answer(QUESTION))
        else:
            mock = MockModelServer(scenario="code_assistant")
            http_client = mock.http_client()
            with openai.OpenAI(api_key="none", http_client=http_client) as client, person_who_approves(run.id):
                print(CodeAssistant(client, tools).answer(QUESTION))


if __name__ == "__main__":
    main()
