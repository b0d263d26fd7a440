"""DBOS: a durable workflow of steps, recovered when the program starts again.  Imports nothing of this project.

APPLICATION_VERSION is empty for DBOS's default: a hash of the workflow's source.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

dbos: Any = import_module("dbos")
DBOS = dbos.DBOS
workflow, tool = DBOS.workflow(), DBOS.step()
model = tool
KILLED = Path("killed")
# What is recovered has ended in two seconds.  On a loaded machine that takes longer, and what is not, stays as it is.
_ENDED_WITHIN_SECONDS = 20.0
_NOT_ENDED = frozenset({"PENDING", "ENQUEUED"})


async def killed_here() -> None:
    if not KILLED.exists():
        KILLED.touch()
        os.kill(os.getpid(), signal.SIGKILL)


async def patch() -> bool:
    """Whether this run is to take the new code."""
    return await DBOS.patch_async("changed")


async def main(trip: Callable[..., Any]) -> None:
    pinned = os.environ["APPLICATION_VERSION"]
    config = {"name": "trip", "system_database_url": os.environ["DATABASE"], "log_level": "WARNING"}
    DBOS(config=config | ({"application_version": pinned} if pinned else {}))
    again = KILLED.exists()
    DBOS.launch()  # which recovers what was pending
    try:
        if not again:
            with dbos.SetWorkflowID("trip-1"):
                await (await DBOS.start_workflow_async(trip)).get_result()
        handle = await DBOS.retrieve_workflow_async("trip-1")
        deadline = time.monotonic() + _ENDED_WITHIN_SECONDS
        while (status := (await handle.get_status()).status) in _NOT_ENDED:
            if time.monotonic() > deadline:
                # Of another version; or recovered, and its function is not found: then it is logged, and left.
                raise SystemExit(f"NotRecovered: the workflow is still {status}")
            await asyncio.sleep(0.05)
        if status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
            raise SystemExit(status)
        print(json.dumps(await handle.get_result()))
    finally:
        DBOS.destroy()
