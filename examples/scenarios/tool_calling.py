"""Tool calling: each request makes the model call one tool, and answer with its result.

    python examples/scenarios/tool_calling.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

REQUESTS = (
    "Please read the file with the prices.",
    "Please edit it: the discount has to be taken off.",
    "Please search for the places that use the function.",
)
FILES = {
    "shop/prices.py": "def discounted(total, discount):\n    return total * discount\n",
    "shop/orders.py": "from shop.prices import discounted\n",
}


@observe(kind="tool")
class FileTools:
    """What the model may call: each public method is a tool. The files are in memory."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = dict(files)

    def read_file(self, path: str) -> str:
        return self.files[path]

    def edit_file(self, path: str, old: str, new: str) -> str:
        if self.files[path].count(old) != 1:
            raise ValueError(f"{old!r} occurs {self.files[path].count(old)} times in {path}")
        self.files[path] = self.files[path].replace(old, new)
        return f"edited {path}"

    def search(self, text: str) -> list[str]:
        return [path for path, content in self.files.items() if text in content]


def definition(name: str, description: str, *arguments: str) -> Any:
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


DEFINITIONS = [
    definition("read_file", "A file's text.", "path"),
    definition("edit_file", "Replaces a text that occurs once in a file.", "path", "old", "new"),
    definition("search", "Names of the files with this text.", "text"),
]


class FileAgent:
    def __init__(self, client: openai.OpenAI, tools: FileTools, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.tools = tools
        self.model = model
        self.messages: list[Any] = []

    @observe(kind="agent", name="file_agent")
    def handle(self, request: str) -> str:
        self.messages.append({"role": "user", "content": request})
        while True:
            completion = self.client.chat.completions.create(
                model=self.model, messages=self.messages, tools=DEFINITIONS
            )
            message: Any = completion.choices[0].message
            self.messages.append(message.model_dump(exclude_none=True, exclude={"reasoning_content"}))
            if not message.tool_calls:
                return message.content or ""
            for call in message.tool_calls:
                result = self.call(call.function.name, call.function.arguments)
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def call(self, name: str, arguments: str) -> str:
        try:
            return json.dumps(getattr(self.tools, name)(**json.loads(arguments)))
        except (LookupError, ValueError, TypeError) as error:
            return f"error: {error}"


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="tool_calling")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client, playhead.run("tool_calling"):
        agent = FileAgent(client, FileTools(FILES))
        for request in REQUESTS:
            print(f"> {request}\n{agent.handle(request)}")


if __name__ == "__main__":
    main()
