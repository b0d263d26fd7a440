"""An agent with tools, a task inside a tool, and an answer of a type. It dies at the point of number DIE_AT, and is
resumed as RUN. `CLIENT` says how the model is asked: openai, openai-async, mock, or streamed.

Prints the run's id, and at the end what came of it, as JSON. Each question to a model and each effect of a tool is a
line of the file DONE.
"""

import asyncio
import json
import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import openai
from pydantic import BaseModel

import playhead
from playhead.context import Compression, Keep, SlidingWindow
from playhead.models import MockModel, Model, ModelRequest, ModelResponse, OpenAIModel, mock_answer
from playhead.testing import MockModelServer, text, tool_call, tool_calls

DIE_AT = int(os.environ.get("DIE_AT", "0"))
CLIENT = os.environ.get("CLIENT", "openai")
points = 0


def point(where: str) -> None:
    """Dies here if it is this point's turn."""
    global points  # noqa: PLW0603 - a counter of this program
    points += 1
    if points == DIE_AT:
        say(f"dies {where}")
        os.kill(os.getpid(), signal.SIGKILL)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def note(line: str) -> None:
    with Path(os.environ["DONE"]).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


class Report(BaseModel):
    changed: list[str]


@playhead.tool(writes=False)
def search(words: str) -> list[str]:
    """Searches the code."""
    note(f"search {words}")
    point("in search")
    return ["a.py", "b.py"]


@playhead.tool(writes=False)
async def read(path: str) -> str:
    """Reads a file, in short."""
    note(f"read {path}")
    point("in read")
    shorter = await summarise.run(f"shorten {path}")
    point("after the task")
    return shorter.content


@playhead.tool(writes=True)
def edit(path: str, line: int) -> str:
    """Edits a file."""
    if line < 1:
        raise ValueError("lines begin with 1")
    note(f"edit {path} {line}")
    point("in edit")
    return "edited"


# --- the model --------------------------------------------------------------------------------------------------------


def script(last: str) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """What the model says to the last message: a text, and the tools that it asks for."""
    note(f"model {last.splitlines()[0]}")
    point("in the model of the task" if last.startswith("shorten") else "in the model")
    match last:
        case "Fix it.":
            return "I look.", [("search", {"words": "bug"}), ("read", {"path": "a.py"})]
        case "a.py is short":
            return "", [("edit", {"path": "a.py", "line": 0}), ("edit", {"path": "a.py"})]
        case str() if "Field required" in last:
            return "", [("edit", {"path": "a.py", "line": 3})]
        case "edited":
            return "Done!", []
        case str() if "the answer is no JSON" in last:
            return '{"changed": ["a.py"]}', []
        case _:
            return f"{last.removeprefix('shorten ')} is short", []


def from_server(request: Any) -> Any:
    said, calls = script(str(request.body["messages"][-1]["content"]))
    if not calls:
        return text(said)
    number = len(request.body["messages"])
    asked = tool_calls(*(tool_call(*call, call_id=f"call_{number}_{at}") for at, call in enumerate(calls)))
    return text(said) + asked if said else asked


def from_function(request: ModelRequest) -> ModelResponse:
    [part] = request.messages[-1]["parts"]
    said, calls = script(str(part.get("content") or part.get("response")))
    return mock_answer(said, calls=[(f"c{len(request.messages)}_{at}", *call) for at, call in enumerate(calls)])


def model() -> Model:
    if CLIENT in ("mock", "streamed-mock"):
        return MockModel(from_function)
    server = MockModelServer(models=("gpt-4o",), clock=lambda: 0)
    server.otherwise(from_server)
    if CLIENT == "openai-async":
        client: Any = openai.AsyncOpenAI(api_key="k", base_url="http://mock/v1", http_client=server.async_http_client())
    else:
        client = openai.OpenAI(api_key="k", base_url="http://mock/v1", http_client=server.http_client())
    playhead.instrument("openai")
    return OpenAIModel("gpt-4o", client=client)


def instructions(ctx: playhead.AgentContext[None]) -> str:
    if ctx.turn == 1:
        assistant_context.append(ctx)
        say(f"run {playhead.current_run_id()}")
    return "You fix code."


assistant_context: list[playhead.AgentContext[None]] = []
MODEL = model()
summarise = playhead.LlmTask("summarise", model=MODEL)
assistant = playhead.Agent(
    name="assistant",
    instructions=instructions,
    model=MODEL,
    tools=[search, read, edit],
    output=Report,
    compression=Compression(limit=100_000, threshold=100, keep=Keep(messages=2), strategy=SlidingWindow(3)),
)


async def streamed() -> playhead.AgentResult:
    async with assistant.run_stream("Fix it.") as events:
        async for _ in events:
            point("at an event")
    return events.result


def main() -> None:
    resumed = os.environ.get("RUN")
    with playhead.resume(resumed) if resumed else nullcontext():
        if CLIENT.startswith("streamed"):
            out = asyncio.run(streamed())
        elif CLIENT == "openai-async":
            out = asyncio.run(assistant.run("Fix it."))
        else:
            out = assistant.run_sync("Fix it.")
    said = [[call.name, call.result] for call in out.tool_calls]
    usage = [out.usage.input_tokens, out.usage.output_tokens]
    history, kept = len(assistant_context[0].context.history), len(assistant_context[0].context.messages)
    result = {
        "output": out.output.model_dump(),
        "turns": out.turns,
        "tools": said,
        "usage": usage,
        "history": history,
        "kept": kept,
    }
    say(json.dumps({"result": result, "points": points}))


main()
