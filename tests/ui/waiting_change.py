"""An agent that fixes a file and asks before it does; it waits until it is answered, or its input ends."""

import os
import sys
import threading
from contextlib import suppress
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, text, thinking, tool_call
from tests.ui.scored_runs import definition

OLD, NEW = "    return total * discount", "    return total * (1 - discount)"
CHANGE = {"path": "shop/prices.py", "old": OLD, "new": NEW}
QUESTION, WISH = "Why are prices with a discount wrong?", "Please fix that."
SYSTEM = "You are a code assistant. Look before you answer, and change only what you are asked to change."
TOOLS = [
    definition("read_file", "A file's text.", path="string"),
    definition("edit_file", "Replaces a text of a file.", path="string", old="string", new="string"),
]


@observe(kind="tool")
def read_file(path: str) -> str:
    return f"def discounted(total: float, discount: float) -> float:\n{OLD}\n"


@observe(kind="tool", approval="always")
def edit_file(path: str, old: str, new: str) -> str:
    return f"edited {path}"


@observe(kind="agent", name="code_helper")
def code_helper(client: openai.OpenAI) -> str:
    def ask() -> Any:
        asked: Any = messages
        return client.chat.completions.create(model="gpt-4o-mini", messages=asked, tools=TOOLS).choices[0].message

    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    answer = ask()
    messages += [answer.model_dump(exclude_none=True), tool_message(answer, read_file("shop/prices.py"))]
    messages += [{"role": "assistant", "content": ask().content}, {"role": "user", "content": WISH}]
    answer = ask()
    try:
        result = edit_file(**CHANGE)
    except playhead.Denied as refused:
        result = f"denied: {refused}"
    messages += [answer.model_dump(exclude_none=True, exclude={"reasoning_content"}), tool_message(answer, result)]
    return ask().content or ""


def tool_message(answer: Any, result: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": result}


def scripted(server: MockModelServer) -> None:
    server.when(contains("edited", role="tool", last=True), text("Fixed: a discount of 10 % now leaves 90 %."))
    server.when(contains("denied", role="tool", last=True), text("I leave the file as it is."))
    edit = thinking("One line is wrong.") + tool_call("edit_file", CHANGE)
    server.when(contains(WISH, role="user", last=True), edit)
    why = text("`shop/prices.py` multiplies by the discount.")
    server.when(contains("def discounted", role="tool", last=True), why)
    server.otherwise(tool_call("read_file", {"path": "shop/prices.py"}))


def end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    playhead.instrument("openai")
    threading.Thread(target=end_with_the_input, daemon=True).start()
    with MockModelServer() as server:
        scripted(server)
        client = openai.OpenAI(base_url=server.base_url, api_key="none")
        with suppress(KeyboardInterrupt), playhead.run("code_helper", user="ada") as run:
            sys.stdout.write(f"{run.id}\n")
            sys.stdout.flush()
            code_helper(client)
    playhead.flush()
