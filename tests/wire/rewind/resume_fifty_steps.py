"""An agent of 50 steps, run as a process of its own by `test_resume_after_kill.py`: dies where DIE_AT says.

CLIENT names the client of the model: `fifty_steps_CLIENT.py` has what differs. Points are numbered as they come by:
before a model is asked, inside a tool after its effect, and after each step. Each tool writes what it does to the file
EFFECTS; prints the run's id, what was replayed, and the final answer.
"""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import importlib
import json
import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

import playhead
from playhead import observe

ROUNDS = 19
BRANCHES = 4
_points = count(1)


def point(name: str) -> None:
    if next(_points) == int(os.environ.get("DIE_AT", "0")):
        print(f"died at {name}", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")
    point(f"inside {what}")


@observe(kind="tool")
def work(number: int) -> tuple[str, int]:
    effect(f"work {number} {playhead.idempotency_key()}")
    return "worked", number


@observe(kind="tool")
async def fetch(branch: int) -> dict[str, Any]:
    effect(f"fetch {branch} {playhead.idempotency_key()}")
    return {"z": branch, "a": b"bytes"}


@observe(kind="tool")
def refuse(amount: float) -> None:
    effect(f"refuse {amount} {playhead.idempotency_key()}")
    raise LookupError(f"no account for {amount}", amount)


def ask(messages: list[Any]) -> None:
    point("before a model")
    messages.append(MODEL.ask(messages))
    point("after a model")


async def branch(number: int) -> str:
    point("before a model")
    said = await MODEL.ask_later([MODEL.user(f"branch {number}")])
    fetched = await fetch(number)
    point("after a branch")
    return f"{said} {list(fetched)} {fetched['a']!r}"


def read_stream(messages: list[Any]) -> str:
    point("before a model")
    pieces = MODEL.pieces(messages)
    point("after a stream")
    return f"{len(pieces)} {''.join(pieces)}"


@observe
async def agent(task: str) -> str:
    messages: list[Any] = [MODEL.user(task)]
    for number in range(ROUNDS):
        ask(messages)
        messages.append(MODEL.user(repr(work(number))))
        point("after work")
    try:
        refuse(1.5)
    except LookupError as error:
        messages.append(MODEL.user(repr((error, error.args))))
    point("after an error")
    found = await asyncio.gather(*(branch(number) for number in range(BRANCHES)))
    messages.append(MODEL.user(json.dumps(found)))
    messages.append(MODEL.assistant(read_stream(messages)))
    ask(messages)
    work(ROUNDS)
    return json.dumps([m if isinstance(m, dict) else m.model_dump(mode="json") for m in messages], sort_keys=True)


if __name__ == "__main__":
    MODEL: Any = importlib.import_module(f"fifty_steps_{os.environ.get('CLIENT', 'openai')}")
    MODEL.start()
    resumed = sys.argv[1] if len(sys.argv) > 1 else None
    if resumed is None:
        with playhead.run("fifty") as run:
            print(run.id, flush=True)
            print(asyncio.run(agent("go")))
    else:
        doubt: Any = os.environ.get("IN_DOUBT", "raise")
        with playhead.resume(resumed, in_doubt=doubt) as rewound, playhead.run("fifty") as run:
            print(run.id, flush=True)
            answer = asyncio.run(agent("go"))
            print(
                json.dumps(
                    {"live": rewound.report.live, "in_doubt": rewound.report.in_doubt, "left": rewound.not_called_again}
                )
            )
            print(answer)
