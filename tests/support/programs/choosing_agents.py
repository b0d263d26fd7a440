"""Two agents in one run, side by side, each with a choice of models. Dies at the point whose number DIE_AT is, and is
resumed as RUN. A point is between a choice and its call, inside a model, and after a call.

CHOOSER says how the models are chosen. Prints the run's id, and at the end what came of it, as JSON. Each question to a
model is a line of the file ASKED.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import playhead
from playhead import observe
from playhead.context import Compression, Context, Keep, SlidingWindow
from playhead.model.event import TokenUsage
from playhead.model.token_estimates import estimate_all
from playhead.models import (
    Budget,
    CallSituation,
    ContextTooLong,
    Fallback,
    MockModel,
    Model,
    ModelChooser,
    ModelRequest,
    Overloaded,
    RateLimited,
    Router,
    Select,
    complete_async,
    mock_answer,
    stream_async,
)

TURNS = 4
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


class Asked(MockModel):
    """A model that notes what it is asked. `fails`: the numbers of the turns in which it fails, and how."""

    def __init__(self, name: str, fails: dict[int, Exception] | None = None, tokens: int = 100) -> None:
        super().__init__(self._answered, name=name)
        self._fails, self._tokens = fails or {}, tokens

    def _answered(self, request: ModelRequest) -> Any:
        last = str(request.messages[-1]["parts"][0]["content"])
        with Path(os.environ["ASKED"]).open("a", encoding="utf-8") as file:
            file.write(f"{self.name} {last.split(':', maxsplit=1)[0]}\n")
        point()
        turn = int(last.split()[1])
        if turn in self._fails:
            return self._fails[turn]
        usage = TokenUsage(round(estimate_all(request.thread)), self._tokens)
        return mock_answer(f"{self.name} says {turn}", usage=usage, model=self.name)


PRICES = {"a": (0.0, 1_000.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
WINDOWS = {"a": 100_000, "b": 200, "c": 100_000, "judge": 100_000}


def chooser() -> ModelChooser:
    """The chooser that CHOOSER names; both agents share it."""
    match os.environ["CHOOSER"]:
        case "select":
            return Select(lambda call: Asked("a" if call.turn % 2 else "b"), among=["a", "b"])
        case "fallback" | "streamed":
            failing = Asked("a", {1: Overloaded("busy"), 3: RateLimited("slow down")})
            return Fallback(failing, {RateLimited: Asked("c"), Overloaded: Asked("b")}, cool_down_s=0.0)
        case "sticky":
            return Fallback(Asked("a", {2: ContextTooLong("too long")}), Asked("b"), sticky=True)
        case "cooling":
            return Fallback(Asked("a", {2: RateLimited("slow down")}), Asked("b"), cool_down_s=3_600.0)
        case "budget":
            return Budget(1.0, Asked("a"), Asked("b"), reserve=0.55, prices=PRICES)
        case _:
            return Router(Asked("judge"), {"judge": Asked("a"), "other": Asked("b")}, default="other")


async def agent(name: str, choose: ModelChooser) -> list[str]:
    """Asks in turns, with a context of its own, that is made shorter for a model with a smaller window."""
    context = Context(system="Be brief.", api="canonical")
    models: list[str] = []

    async def prepare(model: Model) -> ModelRequest:
        point()
        policy = Compression(strategy=SlidingWindow(3), limit=WINDOWS[model.name], keep=Keep(messages=3))
        with context.using(policy):
            return ModelRequest(await context.for_model_async())

    with observe(name, kind="agent"):
        for turn in range(1, TURNS + 1):
            context.add("user", f"turn {turn} of {name}: " + "word " * 40)
            situation = CallSituation([entry.message for entry in context.messages], turn=turn, agent=name)
            if os.environ["CHOOSER"] == "streamed":
                response = None
                async for chunk in stream_async(choose, prepare, situation):
                    response = chunk.response or response
            else:
                response = await complete_async(choose, prepare, situation)
            assert response is not None
            context.answered(response)
            models.append(f"{response.model}, {len(context.messages)} messages")
            point()
    return models


async def main() -> None:
    run_id = os.environ.get("RUN")
    choose = chooser()
    with playhead.resume(run_id) if run_id else nullcontext(), playhead.run("both") as run:
        say(str(run.id))
        both: Sequence[list[str]] = await asyncio.gather(agent("one", choose), agent("two", choose))
    say(json.dumps({"models": both, "points": points}))


asyncio.run(main())
