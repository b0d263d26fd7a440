"""An agent whose steps, tasks and threads are open when it is killed, run by `chain` as a process of its own.

It stops at numbered points: at one of them it is killed, at one of them it stands still (SIGSTOP) until its parent lets
it go on. Writes the run's id, then "done" and its answer.
"""

# ruff: noqa: T201 - what it prints is what the harness reads

import asyncio
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import playhead
from playhead import observe
from playhead.errors import NoRecord, RunAlive, RunTakenOver
from playhead.replaying.recorded_calls import RecordedCall
from tests.support import patience
from tests.support.chaos.effects import Effects

_schedule = random.Random()


class Here:
    """What this process was told by its environment."""

    effects: Effects
    kill_at = freeze_at = 0
    deliver_seconds = 0.0
    points = count(1)
    outside_tools = count(1)


def point() -> None:
    """Where it may be killed."""
    number = next(Here.points)
    if _schedule.random() < 0.3:
        time.sleep(_schedule.random() * 0.02)
    if number == Here.kill_at:
        if Here.deliver_seconds:
            playhead.flush(Here.deliver_seconds)
        os.kill(os.getpid(), signal.SIGKILL)


def outside() -> None:
    """The same where no tool is under way in the main thread, so that it may be frozen there."""
    point()
    is_main = threading.current_thread() is threading.main_thread()
    if Here.freeze_at and is_main and next(Here.outside_tools) == Here.freeze_at:
        if Here.deliver_seconds:
            playhead.flush(Here.deliver_seconds)
        print("frozen", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)


@observe(kind="tool")
def act(what: str) -> dict[str, Any]:
    point()
    key = playhead.idempotency_key()
    assert key is not None
    Here.effects.begin(key, what, os.getpid())
    # Who takes a run over by force does without what was not delivered.
    result = Here.effects.write(key, what, may_be_there=os.environ.get("MAY_FORCE") == "yes")
    point()
    return result


@observe(kind="step")
def inner(number: int) -> list[Any]:
    outside()
    acted = [act(f"inner {number}")]
    outside()
    return acted


@observe(kind="step")
def outer(number: int) -> list[Any]:
    outside()
    return [*inner(number), act(f"outer {number}")]


@observe(kind="step")
async def branch(number: int) -> list[Any]:
    await asyncio.sleep(_schedule.random() * 0.01)
    outside()
    return [*await leaf(number), act(f"branch {number}")]


@observe(kind="step")
async def leaf(number: int) -> list[Any]:
    await asyncio.sleep(_schedule.random() * 0.01)
    return [act(f"leaf {number}")]


async def branches() -> list[Any]:
    return list(await asyncio.gather(*(branch(number) for number in range(3))))


@observe
def agent() -> list[Any]:
    first = [outer(1), outer(2)]
    several = asyncio.run(branches())
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(playhead.propagate_to_thread(outer), number) for number in (3, 4)]
        threads = [job.result() for job in jobs]
    playhead.annotate(decision="nearly done", reason="all were there")
    return [first, several, threads, outer(5)]


def look(call: RecordedCall) -> Any:
    """Whether a tool in doubt has taken effect."""
    outcome = Here.effects.outcome(call.idempotency_key)
    return playhead.RERUN if outcome is None else outcome


@contextmanager
def resumed(run_id: str) -> Generator[None]:
    if not run_id:
        yield
        return
    with playhead.resume(run_id, in_doubt=look, force=os.environ.get("FORCE") == "yes"):
        yield


def main(run_id: str) -> None:
    environ = os.environ
    Here.effects = Effects(Path(environ["EFFECTS"]))
    Here.kill_at, Here.freeze_at = int(environ.get("KILL_AT", "0")), int(environ.get("FREEZE_AT", "0"))
    Here.deliver_seconds = float(environ.get("DELIVER", "0"))
    _schedule.seed(environ["SCHEDULE"])
    patience.wait_for_collector()
    try:
        with resumed(run_id), playhead.run("machines") as run:
            print(run.id, flush=True)
            answer = agent()
    except (RunAlive, NoRecord) as refused:
        print("refused", refused, flush=True)
        sys.exit(3)
    except RunTakenOver as stopped:
        print("taken over", stopped, flush=True)
        sys.exit(4)
    print("done", len(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
