"""A chat with a managed context and tools. It dies at the point whose number DIE_AT is, and is resumed as RUN.

Prints the run's id, with the first question that a model is asked the CPU seconds until then (`live ...`), and at the
end what came of it, as JSON. Each question to the model is a line of the file ASKED.
"""

import json
import os
import re
import signal
import sys
import time
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.models import OpenAIModel
from playhead.testing import MockModelServer, contains, text, tool_call

TURNS = int(os.environ.get("TURNS", "20"))
DIE_AT = int(os.environ.get("DIE_AT", "0"))
points = 0


def point() -> None:
    """Dies here if it is this point's turn."""
    global points  # noqa: PLW0603 - a counter of this program
    points += 1
    if points == DIE_AT:
        os.kill(os.getpid(), signal.SIGKILL)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@cache
def say_live() -> None:
    """Says once how long it took until a model was asked: of a resumed run, until it went on."""
    say(f"live {time.process_time():.3f}")


def note(line: str) -> None:
    with Path(os.environ["ASKED"]).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def summary(request: Any) -> Any:
    numbers = re.findall(r"question (\d+)", str(request.body))
    say_live()
    note(f"summary {numbers[0] if numbers else '-'} {numbers[-1] if numbers else '-'}")
    point()
    return text(f"A summary of the questions up to {numbers[-1]}, of what was looked up for them and what was said.")


def answer(request: Any) -> Any:
    last = request.body["messages"][-1]
    say_live()
    note(f"answer {last['role']} {last['content'][:16]}")
    point()
    number = re.findall(r"\d+", last["content"])[0]
    wants_tool = last["role"] == "user" and int(number) % 3 == 0
    if wants_tool:
        return tool_call("look_up", {"q": number}, call_id=f"call_{number}")
    return text(f"answer {number} " + "word " * 30)


@observe(kind="tool")
def look_up(q: str) -> str:
    note(f"tool {q}")
    return f"found {q} " + "word " * 30


def main() -> None:
    server = MockModelServer(models=("gpt-4o",), clock=lambda: 0)
    server.when(contains("Summarise the conversation"), summary)
    server.otherwise(answer)
    client = openai.OpenAI(api_key="k", base_url="http://mock/v1", http_client=server.http_client())
    playhead.instrument("openai")
    places: list[Any] = []
    policy = Compression(
        limit=900,
        keep=Keep(share=0.3),
        strategy=LlmSummary(model=OpenAIModel("gpt-4o", client=client)),
        after=lambda report: places.append([len(context.history), report.tokens_before, report.tokens_after]),
    )
    run_id = os.environ.get("RUN")
    with playhead.resume(run_id) if run_id else nullcontext(), playhead.run("chat") as run:
        say(str(run.id))
        context = Context(system="Be brief.", compression=policy)
        for turn in range(TURNS):
            point()
            context.add("user", f"question {turn} " + "word " * 20)
            while True:
                messages: Any = context.for_model()
                point()
                response = client.chat.completions.create(model="gpt-4o", messages=messages)
                point()
                context.answered(response)
                calls: Any = response.choices[0].message.tool_calls or []
                for call in calls:
                    context.add("tool", look_up(**json.loads(call.function.arguments)), call=call.id)
                    point()
                if not calls:
                    break
    history = [entry.text for entry in context.history]
    say(json.dumps({"places": places, "messages": context.native_messages(), "history": history, "points": points}))


main()
