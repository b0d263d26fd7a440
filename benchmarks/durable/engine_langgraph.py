"""LangGraph: an entrypoint of tasks with a checkpointer in Postgres, each written at once.

Imports nothing of this project.
"""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

# What a thread was begun with; it is kept with the thread, so a resumed one has the old.
OLD, NEW = "version 1", "version 2"
begun_with: list[str] = []

func: Any = import_module("langgraph.func")
saver: Any = import_module("langgraph.checkpoint.postgres.aio").AsyncPostgresSaver
model = tool = func.task
KILLED = Path("killed")
# Writes of tasks are handed to a thread: that they may be lost at a kill is not what is looked at here.
_WRITTEN_WITHIN_SECONDS = 1.0


def workflow(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


async def killed_here() -> None:
    if not KILLED.exists():
        await asyncio.sleep(_WRITTEN_WITHIN_SECONDS)
        KILLED.touch()
        os.kill(os.getpid(), signal.SIGKILL)


async def patch() -> bool:
    """Whether this run is to take the new code."""
    return begun_with == [NEW]


async def main(trip: Callable[..., Any]) -> None:
    async with saver.from_conn_string(os.environ["DATABASE"]) as checkpointer:
        await checkpointer.setup()

        @func.entrypoint(checkpointer=checkpointer)
        async def run(version: str) -> list[Any]:
            begun_with[:] = [version]
            return await trip()

        # No input: the thread goes on from its last checkpoint.
        given = None if KILLED.exists() else OLD
        config = {"configurable": {"thread_id": "trip-1"}}
        print(json.dumps(await run.ainvoke(given, config, durability="sync")))
