"""A code editor in several turns: it searches, reads and edits files, and asks a person before it edits.

    python examples/code_editing_agent.py

It works on a small project in a temporary folder, and talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name,
else to a mock model. Edits are approved at the terminal; where there is none, they all are.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, Script, contains, regex, text, thinking, tool_call, tool_requested

SYSTEM = "You are a code editor. Look before you answer, and change only what you are asked to change."
TURNS = ("Why are prices with a discount wrong?", "Please fix that.", "Now run the tests.")
PROJECT = {
    "shop/__init__.py": "",
    "shop/prices.py": "def discounted(total: float, discount: float) -> float:\n    return total * discount\n",
    "test_prices.py": (
        "from shop.prices import discounted\n\nassert discounted(100, 0.1) == 90\nprint('1 test passed')\n"
    ),
}


def approved(path: str, old: str, new: str) -> bool:
    """Asks a person whether the file may be edited; without a terminal there is nobody to ask, and it may."""
    if not sys.stdin.isatty():
        return True
    return input(f"Edit {path}: {old!r} becomes {new!r}. [y/N] ").strip().lower() == "y"


@observe(kind="tool")
class FileTools:
    """What the model may do with the files below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def search_files(self, pattern: str) -> list[str]:
        files = sorted(path for path in self.root.rglob("*.py") if pattern in path.read_text(encoding="utf-8"))
        return [path.relative_to(self.root).as_posix() for path in files]

    def read_file(self, path: str) -> str:
        return self._inside(path).read_text(encoding="utf-8")

    def edit_file(self, path: str, old: str, new: str) -> str:
        file = self._inside(path)
        content = file.read_text(encoding="utf-8")
        if content.count(old) != 1:
            return f"not edited: {old!r} occurs {content.count(old)} times in {path}"
        if not approved(path, old, new):
            return "denied: the user does not want this edit"
        file.write_text(content.replace(old, new), encoding="utf-8")
        return f"edited {path}"

    def run_tests(self) -> str:
        command = [sys.executable, "test_prices.py"]
        done = subprocess.run(  # noqa: S603 - the project's own tests
            command, cwd=self.root, capture_output=True, text=True, timeout=60, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else f"failed:\n{done.stderr[-500:]}"

    def _inside(self, path: str) -> Path:
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root.resolve()):
            raise PermissionError(f"{path} is outside of the project")
        return file


def definition(name: str, description: str, *arguments: str) -> Any:
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


DEFINITIONS = [
    definition("search_files", "Names of the files with this text.", "pattern"),
    definition("read_file", "A file's text.", "path"),
    definition("edit_file", "Replaces a text that occurs once in a file. The user may deny it.", "path", "old", "new"),
    definition("run_tests", "Runs the tests and returns what they print."),
]


class CodeEditor:
    def __init__(self, client: openai.OpenAI, tools: FileTools, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.tools = tools
        self.model = model
        self.messages: list[Any] = [{"role": "system", "content": SYSTEM}]

    @observe(kind="agent", name="code_editor")
    def turn(self, question: str) -> str:
        self.messages.append({"role": "user", "content": question})
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
            result = getattr(self.tools, name)(**json.loads(arguments))
        except (OSError, ValueError, TypeError) as error:
            return f"error: {error}"
        return result if isinstance(result, str) else json.dumps(result)


WHY, FIX, TESTS = (regex(words, role="user", last=True) for words in ("Why", "fix", "tests"))
EDIT = {"path": "shop/prices.py", "old": "total * discount", "new": "total * (1 - discount)"}
SCRIPT = (
    Script()
    .when(WHY & ~tool_requested("search_files"), tool_call("search_files", {"pattern": "discount"}))
    .when(WHY & ~tool_requested("read_file"), tool_call("read_file", {"path": "shop/prices.py"}))
    .when(WHY, text("`shop/prices.py` multiplies by the discount itself, so ten percent off leaves ten percent."))
    .when(FIX & ~tool_requested("edit_file"), thinking("One line is wrong.") + tool_call("edit_file", EDIT))
    .when(FIX & contains("denied", role="tool"), text("I have left the file as it is."))
    .when(FIX, text("Done: the discount is now taken off the total."))
    .when(TESTS & ~tool_requested("run_tests"), tool_call("run_tests"))
    .when(TESTS & contains("failed", role="tool"), text("The tests still fail."))
    .when(TESTS, text("All tests pass."))
)


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(script=SCRIPT)
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with tempfile.TemporaryDirectory() as folder, model_client() as client:
        for name, content in PROJECT.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(content, encoding="utf-8")
        editor = CodeEditor(client, FileTools(Path(folder)))
        with playhead.run("code_editor", session="example"):
            for question in TURNS:
                print(f"> {question}\n{editor.turn(question)}")


if __name__ == "__main__":
    main()
