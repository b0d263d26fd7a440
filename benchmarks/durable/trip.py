"""An agent that is killed in the middle, and run again after somebody has changed it: `changes` says how.

`engine_*.py` say whose steps these are; ENGINE names one.  What is executed is written to the file EFFECTS.
"""

import asyncio
import os
from importlib import import_module
from pathlib import Path
from typing import Any

engine: Any = import_module(os.environ["ENGINE"])
model, tool, workflow = engine.model, engine.tool, engine.workflow


def did(what: str) -> str:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")
    return what


@model
async def ask(name: str, prompt: str) -> str:
    return did(f"{name} on {prompt!r}")


@tool
async def search(query: str) -> str:
    return did(f"searched {query}")


@tool
async def book(flight: str) -> Any:
    return did(f"booked {flight}")


@tool
async def fetch(page: int) -> str:
    return did(f"fetched {page}")


@tool
async def mail(to: str) -> str:
    return did(f"mailed {to}")


@workflow
async def trip() -> list[Any]:
    plan = await ask("model-1", "Where to?")
    found = [await search("a"), await search("b")]
    booked = await book("LX1")
    pages = await asyncio.gather(fetch(1), fetch(2), fetch(3))
    await engine.killed_here()
    mailed = await mail("bob")
    return [plan, found, booked, list(pages), mailed]


if __name__ == "__main__":
    asyncio.run(engine.main(trip))
