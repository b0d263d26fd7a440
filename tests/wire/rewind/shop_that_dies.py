"""A shop: look, check, pay, mail, file.  Its tools write down what they do; it dies where DIE_AT says."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import cast

import playhead
from playhead import observe
from playhead.errors import ToolDenied
from playhead.model.names import CallKind


def effect(what: str) -> str:
    with Path(os.environ["EFFECTS"]).open("a", encoding="utf-8") as file:
        file.write(f"{what}\n")
    if os.environ.get("DIE_IN") == what.partition(" ")[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{os.environ.get('PREFIX', 'done')}: {what}"


@observe(kind="tool")
def look(order: str) -> str:
    return effect(f"look {order}")


@observe(kind="tool")
def check(order: str) -> str:
    return effect(f"check {order}")


@observe(name=os.environ.get("NAME", "pay"), kind=cast("CallKind | None", os.environ.get("KIND", "tool") or None))
def pay(amount: int) -> str:
    return effect(f"pay {amount}")


@observe(kind="tool")
def mail(to: str) -> str:
    return effect(f"mail {to}")


@observe(kind="tool")
def file(order: str) -> str:
    return effect(f"file {order}")


STEPS = {
    "look": lambda: look("A1"),
    "check": lambda: check("A1"),
    "pay": lambda: pay(int(os.environ.get("AMOUNT", "1000"))),
    "mail": lambda: mail("bob"),
    "file": lambda: file("A1"),
}


def agent() -> list[str]:
    return steps()


if "AGENT" not in os.environ:
    agent = observe(agent)


def steps() -> list[str]:
    said: list[str] = []
    for name, step in STEPS.items():
        if os.environ.get("DIE_BEFORE") == name:
            playhead.flush(float(os.environ.get("DELIVER", "0")))
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            said.append(step())
        except (RuntimeError, ToolDenied) as error:
            said.append(f"{type(error).__name__}: {str(error)[:20]}")
    return said


async def without_an_agent() -> None:
    """Its calls are one run, since one task makes them, and each of them is a root of that run."""
    sys.stdout.write(f"-\n{json.dumps(steps())}\n")


def go() -> None:
    if "WITHOUT_AN_AGENT" in os.environ:
        asyncio.run(without_an_agent())
        return
    if "AGENT" in os.environ:
        steps()
        return
    with playhead.run("shop") as run:
        sys.stdout.write(f"{run.id}\n")
        sys.stdout.flush()
        sys.stdout.write(f"{json.dumps(agent())}\n")


HOW = json.loads(os.environ.get("HOW", "{}"))
match sys.argv[1:]:
    case ["fork", of]:
        with playhead.fork(of, **HOW):
            go()
    case ["fork, tools by a function", of]:
        with playhead.fork(of, tools=lambda name, given: f"{name}: {given}", **HOW):
            go()
    case ["resume", of]:
        with playhead.resume(of, **HOW):
            go()
    case _:
        go()
playhead.flush(float(os.environ.get("DELIVER", "0")))
