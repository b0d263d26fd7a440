"""request → [script] → endpoint. Finds the answer to a request: by rules in order, then a recorded run, then
otherwise."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from playhead.testing.answers import Answer, Answering, Delayed, Dropped, Failed, Said
from playhead.testing.request import ChatRequest
from playhead.testing.rules import Rule
from playhead.testing.trajectories import Trajectories


class NoAnswer(Exception):
    """No rule matches, and `otherwise` is not set; the message lists the rules."""


@dataclass(slots=True)
class _ScriptLine:
    rule: Rule
    answer: Answering
    times: int | None
    used: int = 0

    @property
    def is_used_up(self) -> bool:
        return self.times is not None and self.used >= self.times

    def __str__(self) -> str:
        limit = "" if self.times is None else f" [used {self.used} of {self.times} times]"
        return f"{self.rule}{limit}"


class Script:
    """Rules with their answers, in order. Thread-safe: a rule limited to n uses is used n times, however many clients
    send requests at once."""

    def __init__(self) -> None:
        self._lines: list[_ScriptLine] = []
        self._otherwise: Answering | None = None
        self._trajectories = Trajectories()
        self._lock = threading.Lock()

    def when(self, rule: Rule, answer: Answering, times: int | None) -> None:
        if times is not None and times < 1:
            raise ValueError(f"times={times}: a rule is used at least once; leave it out for no limit")
        self._lines.append(_ScriptLine(rule, answer, times))

    def otherwise(self, answer: Answering) -> None:
        self._otherwise = answer

    def play(self, trajectories: Trajectories) -> None:
        self._trajectories = trajectories

    def answer(self, request: ChatRequest) -> Answer:
        """Returns the answer of the first rule that matches and is not used up; else of the recorded run that the
        request names; else `otherwise`. Raises NoAnswer, NoSuchTurn."""
        if request.is_embedding:
            return self._fault(request) or Said()
        chosen = self._choose(request)
        return chosen(request) if callable(chosen) else chosen

    def _choose(self, request: ChatRequest) -> Answering:
        for line in list(self._lines):
            if not line.is_used_up and line.rule.matches(request) and self._use(line):
                return line.answer
        if request.trajectory is not None:
            # A key without records is an error of the test: an invented answer would hide it.
            return self._trajectories.answer(request.trajectory, request.messages)
        if self._otherwise is None:
            raise NoAnswer(self._explained(request))
        return self._otherwise

    def _fault(self, request: ChatRequest) -> Answer | None:
        """Returns the failure or the delayed answer of the first rule that has one for a request for embeddings; None
        if there is none."""
        for line in list(self._lines):
            fault = line.answer
            if isinstance(fault, Failed | Delayed | Dropped) and line.rule.matches(request) and self._use(line):
                return fault
        return None

    def _use(self, line: _ScriptLine) -> bool:
        with self._lock:
            if line.is_used_up:
                return False
            line.used += 1
            return True

    def _explained(self, request: ChatRequest) -> str:
        last = request.messages[-1]
        text = next(request.texts(last=True))[:80]
        rules = "; ".join(str(line) for line in self._lines) or "none"
        return (
            f"The mock model has no answer to request {request.number}, whose last message is {last['role']}: {text!r}."
            f" No rule matches and there is no otherwise(). Rules, in order: {rules}."
        )
