"""What the programs of compressing agents share: the model that they ask, the points where they die, what they print.

A program asks the same questions each time. It dies at the point whose number DIE_AT is, and is resumed as RUN. It
prints the run's id, and at the end what came of it, as JSON. Each question to the model, and each call of a tool, is a
line of the file ASKED.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import playhead
from playhead.context import Compression, CompressionReport, Keep, LlmSummary
from playhead.testing import MockModelServer, contains, text, tool_call, tool_calls

TURNS = int(os.environ.get("TURNS", "12"))
DIE_AT = int(os.environ.get("DIE_AT", "0"))
STREAMED_TURN = 3
SUMMARY = "A summary of the questions up to"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def note(line: str) -> None:
    with Path(os.environ["ASKED"]).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def question(turn: int) -> str:
    return f"question {turn} " + "word " * 20


def looked_up(q: str) -> str:
    """What the tool of every agent does."""
    note(f"tool {q}")
    return f"found {q} " + "word " * 30


class Program:
    """What one program has seen so far. `places`: messages and tokens before and after each compression; `in_flight`:
    how many of them stood between the results of tools and the answer to them; `broken`: requests with half a call."""

    def __init__(self) -> None:
        self.points = 0
        self.places: list[list[int]] = []
        self.in_flight = 0
        self.broken: list[str] = []
        self._is_new = False
        self.server = MockModelServer(models=("gpt-4o",), clock=lambda: 0)
        self.server.when(contains("Summarise the conversation"), self._summary)
        self.server.otherwise(self._answer)

    def point(self) -> None:
        """Dies here if it is this point's turn."""
        self.points += 1
        if self.points == DIE_AT:
            os.kill(os.getpid(), signal.SIGKILL)

    def compression(self, **options: Any) -> Compression:
        return Compression(
            **{"limit": 900, "keep": Keep(share=0.3), "strategy": LlmSummary(), "after": self._after, **options}
        )

    @contextmanager
    def run(self) -> Iterator[None]:
        """The run, or the resumed one."""
        run_id = os.environ.get("RUN")
        with playhead.resume(run_id) if run_id else nullcontext(), playhead.run("chat") as run:
            say(str(run.id))
            yield

    def end(self, answers: Sequence[str], kept: Sequence[str]) -> None:
        """Prints what came of it. `kept`: the texts of the messages that the framework has at the end."""
        about = {name: getattr(self, name) for name in ("places", "in_flight", "broken", "points")}
        say(json.dumps({**about, "answers": answers, "kept": kept}))

    def _after(self, report: CompressionReport) -> None:
        self.places.append([report.messages_before, report.messages_after, report.tokens_before, report.tokens_after])
        self._is_new = True

    def _summary(self, request: Any) -> Any:
        numbers = re.findall(r"question (\d+)", str(request.body))
        note(f"summary {numbers[0] if numbers else '-'} {numbers[-1] if numbers else '-'}")
        self.point()
        return text(f"{SUMMARY} {numbers[-1]}, of what was looked up for them and what was said.")

    def _answer(self, request: Any) -> Any:
        last = request.messages[-1]
        content = str(last["content"])
        number = re.findall(r"\d+", content)[0]
        note(f"answer {last['role']} {number}")
        self._check(request.messages)
        self.in_flight += self._is_new and last["role"] == "tool"
        self._is_new = False
        self.point()
        if last["role"] == "user" and int(number) % 2 == 0:
            calls = (tool_call("look_up", {"q": f"{number}{side}"}, call_id=f"call_{number}{side}") for side in "ab")
            return tool_calls(*calls)
        return text(f"answer {number} " + "word " * 30)

    def _check(self, messages: Sequence[Any]) -> None:
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        talk = [message["role"] for message in messages if message["role"] != "system"]
        if sorted(calls) != sorted(results) or talk[0] != "user":
            self.broken.append(f"{calls} {results} {talk}")
