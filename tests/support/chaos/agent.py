"""An agent with branches of every kind, run by `chain` as a process of its own that is killed at random.

Its schedule is drawn from SEED, so branches come in another order in every attempt; what it asks, does and answers is
always the same.  Writes the run's id, then a line of JSON with what was replayed, then the answer.
"""

# ruff: noqa: T201 - what it prints is what the harness reads

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.journal.segment import Segment
from playhead.replaying.recorded_calls import RecordedCall
from tests.support.chaos.effects import Effects

_EQUAL = 3
_schedule = random.Random()


class Here:
    """What this process was told by its environment."""

    effects: Effects
    attempt = 0
    kill_at_append = 0
    kill_at_effect = 0
    kill_when = "after"
    sync: openai.OpenAI
    asynchronous: openai.AsyncOpenAI
    appended = count(1)
    affected = count(1)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# --- the schedule -----------------------------------------------------------------------------------------------------


def pause() -> None:
    """Other threads may come first, or not."""
    if _schedule.random() < 0.5:
        time.sleep(_schedule.random() * 0.004)


async def anywhere() -> None:
    """Other tasks may come first, or not."""
    for _ in range(_schedule.randrange(4)):
        await asyncio.sleep(0)
    if _schedule.random() < 0.5:
        await asyncio.sleep(_schedule.random() * 0.01)


# --- tools ------------------------------------------------------------------------------------------------------------


def take_effect(what: str, *, may_be_there: bool = False) -> dict[str, Any]:
    key = playhead.idempotency_key()
    assert key is not None
    number = next(Here.affected)
    Here.effects.begin(key, what, Here.attempt)
    if number == Here.kill_at_effect and Here.kill_when == "before":
        die()
    result = Here.effects.write(key, what, may_be_there=may_be_there)
    if number == Here.kill_at_effect:
        die()
    return result


@observe(kind="tool")
def write(what: str) -> dict[str, Any]:
    pause()
    return take_effect(f"write {what}")


@observe(kind="tool")
def note(what: str) -> dict[str, Any]:
    """As `write`; called where it must not hold up others."""
    return take_effect(f"note {what}")


@observe(kind="tool")
async def fetch(what: str) -> dict[str, Any]:
    await anywhere()
    result = take_effect(f"fetch {what}")
    await anywhere()
    return result


@observe(kind="tool", idempotent=True)
async def upsert(what: str) -> dict[str, Any]:
    await anywhere()
    return take_effect(f"upsert {what}", may_be_there=True)


@observe(kind="tool")
async def reserve(what: str) -> dict[str, Any]:
    """Fails in its first call."""
    await anywhere()
    key = playhead.idempotency_key()
    assert key is not None
    Here.effects.begin(key, f"reserve {what}", Here.attempt)
    Here.effects.refuse_once(key, f"reserve {what}")
    await anywhere()
    return Here.effects.write(key, f"reserve {what}")


@observe(kind="retriever")
def pages(topic: str) -> Iterator[str]:
    """Read only in part."""
    for number in range(5):
        pause()
        yield f"{topic}, page {number}"


# --- models -----------------------------------------------------------------------------------------------------------


async def ask(*said: str) -> str:
    await anywhere()
    messages: Any = [{"role": "user", "content": each} for each in said]
    answer = await Here.asynchronous.chat.completions.create(model="m", messages=messages)
    await anywhere()
    return str(answer.choices[0].message.content)


def ask_here(said: str) -> str:
    pause()
    answer = Here.sync.chat.completions.create(model="m", messages=[{"role": "user", "content": said}])
    return str(answer.choices[0].message.content)


async def ask_streaming(said: str) -> str:
    await anywhere()
    messages: Any = [{"role": "user", "content": said}]
    pieces: list[str] = []
    stream = await Here.asynchronous.chat.completions.create(model="m", messages=messages, stream=True)
    async for chunk in stream:
        pieces += [choice.delta.content or "" for choice in chunk.choices]
        await anywhere()
    return f"{len(pieces)} {''.join(pieces)}"


def stream_here(said: str) -> str:
    messages: Any = [{"role": "user", "content": said}]
    with Here.sync.chat.completions.create(model="m", messages=messages, stream=True) as stream:
        pieces = [choice.delta.content or "" for chunk in stream for choice in chunk.choices]
    return f"{len(pieces)} {''.join(pieces)}"


# --- branches ---------------------------------------------------------------------------------------------------------


async def plain(number: int) -> list[Any]:
    """Not observed itself: its calls stand directly in what is around it."""
    await anywhere()
    said = await ask(f"question {number}")
    return [said, await fetch(f"page {number}"), note(f"row {number}"), await fetch("the same for all")]


@observe
async def branch(number: int) -> list[Any]:
    await anywhere()
    wrote = note(f"branch {number}")
    leaves = await asyncio.gather(*(fetch(f"leaf {number}{each}") for each in "ab"), upsert(f"leaf {number}"))
    return [wrote, *leaves]


@observe(kind="agent", name="helper")
async def helper(number: int) -> list[Any]:
    await anywhere()
    said = await ask(f"help {number}")
    return [said, await fetch(f"help {number}"), await asyncio.to_thread(write, f"thread {number}")]


@observe(kind="agent", name="helper")
async def helper_of_helpers() -> list[Any]:
    return list(await asyncio.gather(helper(3), helper(4)))


@observe(kind="step")
def job(number: int) -> list[Any]:
    pause()
    return [ask_here(f"job {number}"), write(f"job {number}")]


@observe(kind="step")
def pooled() -> list[Any]:
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(playhead.propagate_to_thread(job), number) for number in range(4)]
        lone = [pool.submit(playhead.propagate_to_thread(write), f"lone {number}") for number in range(3)]
        return [each.result() for each in (*jobs, *lone)]


@observe(kind="agent")
def chapters(topic: str) -> Iterator[Any]:
    """A generator whose calls are made while others read it."""
    for number in range(2):
        pause()
        yield write(f"{topic} {number}")
    yield ask_here(f"{topic}: the end")


@observe(kind="agent")
async def news(topic: str) -> AsyncIterator[Any]:
    for number in range(2):
        yield await fetch(f"{topic} {number}")
        await anywhere()
    yield await ask(f"{topic}: the end")


async def read_news() -> list[Any]:
    return [[each, await upsert(f"news {number}")] for number, each in enumerate([n async for n in news("news")])]


@observe(kind="step")
async def persistent() -> dict[str, Any]:
    """Tries again, with the same arguments."""
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            return await reserve("a table")
    raise AssertionError("it fails only once")


@observe(kind="step")
def reading() -> list[Any]:
    found: list[Any] = []
    for page in pages("history"):
        found.append([page, write(f"about {page}")])
        if len(found) == 2:
            break
    return [*found, *chapters("chapter")]


async def pay() -> list[Any]:
    """Equal calls, made at the same time."""
    return list(await asyncio.gather(*(fetch("pay 5") for _ in range(_EQUAL))))


async def agent(task: str) -> str:
    plan = await ask(task)
    first = write("first")
    found = await asyncio.gather(
        *(kind(number) for kind in (plain, branch, helper) for number in (1, 2)),
        helper_of_helpers(),
        asyncio.to_thread(pooled),
        ask_streaming("a stream"),
        read_news(),
        persistent(),
        pay(),
        asyncio.to_thread(reading),
    )
    answer = await ask(task, plan, json.dumps([first, found], sort_keys=True))
    return json.dumps([answer, stream_here(answer), found, write("last")], sort_keys=True)


# --- one attempt ------------------------------------------------------------------------------------------------------


def decide(call: RecordedCall) -> Any:
    """Looks at what came of a call in doubt."""
    outcome = Here.effects.outcome(call.idempotency_key)
    return playhead.RERUN if outcome is None else outcome


def set_up(environ: dict[str, str]) -> None:
    Here.effects = Effects(Path(environ["EFFECTS"]))
    Here.attempt = int(environ["ATTEMPT"])
    Here.kill_at_append, Here.kill_at_effect = int(environ["KILL_AT_APPEND"]), int(environ["KILL_AT_EFFECT"])
    Here.kill_when = environ["KILL_WHEN"]
    _schedule.seed(int(environ["SEED"]))
    # Certificates are of no use here, and reading them is slow.
    Here.sync = openai.OpenAI(http_client=openai.DefaultHttpxClient(verify=False))
    Here.asynchronous = openai.AsyncOpenAI(http_client=openai.DefaultAsyncHttpxClient(verify=False))
    playhead.instrument("openai")
    _hook_appends()


def _hook_appends() -> None:
    append = Segment.append

    def counted(self: Segment, data: bytes) -> int:
        last = next(Here.appended) == Here.kill_at_append
        if last and Here.kill_when == "before":
            die()
        if last and Here.kill_when == "amid":
            append(self, data[: _schedule.randrange(1, len(data))])
            die()
        written = append(self, data)
        if last:
            die()
        return written

    Segment.append = counted


def outcomes_of(given: str) -> dict[str, Any]:
    """Span id → what a person has found: `{"result": ...}`, `{"error": text}`, or None: it has not taken effect."""
    found: dict[str, Any] = json.loads(given)
    outcomes: dict[str, Any] = {}
    for span, outcome in found.items():
        if outcome is None:
            outcomes[span] = playhead.RERUN
        else:
            outcomes[span] = {"error": ConnectionError(outcome["error"])} if "error" in outcome else outcome
    return outcomes


def main(run_id: str) -> None:
    environ, began = dict(os.environ), time.time()
    signal.setitimer(signal.ITIMER_REAL, float(environ["KILL_AFTER"]))  # nobody handles its signal: it ends the process
    set_up(environ)
    if not run_id:
        with playhead.run("chaos") as run:
            print(run.id, flush=True)
            answer = asyncio.run(agent("go"))
        told: dict[str, Any] = {}
    else:
        print(run_id, flush=True)
        doubt: Any = {"decide": decide}.get(environ["IN_DOUBT"], environ["IN_DOUBT"])
        with playhead.resume(run_id, in_doubt=doubt, outcomes=outcomes_of(environ["OUTCOMES"])) as resumed:
            with playhead.run("chaos") as run:
                answer = asyncio.run(agent("go"))
            what = resumed.report
            told = {"in_doubt": what.in_doubt, "left": resumed.not_called_again, "live": what.live}
            told |= {"answered": what.answered, "divergences": [str(each) for each in what.divergences]}
            assert run.id == run_id
    counted = {"appends": next(Here.appended) - 1, "effects": next(Here.affected) - 1}
    print(json.dumps(told | counted | {"began": began}))
    print(answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
