"""Playhead: plain functions that are observed.  DIVERGENCE and COMPLETED say what to do where it has changed."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import playhead
from playhead import observe

RUN = Path("run")
workflow, tool, model = observe, observe(kind="tool"), observe(kind="llm")


async def killed_here() -> None:
    if not RUN.exists():
        RUN.write_text(playhead.current_run_id() or "")
        os.kill(os.getpid(), signal.SIGKILL)


async def main(trip: Callable[..., Any]) -> None:
    if not RUN.exists():
        await trip()
        return
    how: Any = os.environ["DIVERGENCE"]
    completed: Any = os.environ["COMPLETED"]
    with playhead.resume(RUN.read_text(), on_divergence=how, completed=completed):
        print(json.dumps(await trip()))
