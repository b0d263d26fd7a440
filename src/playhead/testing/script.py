"""request → [script] → endpoint.  Finds the answer to a request: rules in order, then a recorded run, then the default.

`Script` is the value: rules with their answers. `ScriptPlayer` plays it. `RecordedAnswers` is an answer that repeats
those of the model in a recorded run, for `otherwise`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from playhead.testing.answers import Answer, Answering, AssistantMessage, Delayed, Dropped, Failed
from playhead.testing.request import ChatRequest
from playhead.testing.rules import Rule
from playhead.testing.trajectories import Trajectories

# --- rules with their answers -----------------------------------------------------------------------------------------


class NoAnswer(Exception):
    """No rule matches, and there is no default answer; the message lists the rules."""


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """A rule and its answer; at most `times` times, if given. Raises ValueError for `times` below 1."""

    rule: Rule
    answer: Answering
    times: int | None = None

    def __post_init__(self) -> None:
        if self.times is not None and self.times < 1:
            raise ValueError(f"times={self.times}: a rule is used at least once; leave it out for no limit")


@dataclass(frozen=True, slots=True)
class Script:
    """Rules with their answers, in order, and a default answer to requests that no rule matches.

    A value: `when` and `otherwise` return another script, and `first + second` is one with the rules of both.

        refunds = Script().when(contains("refund"), text("It is on its way.")).otherwise(text("How can I help?"))
        server = MockModelServer(script=refunds + scenarios.load("ticket_routing"))

    `description` says which prompts and tools the script expects.
    """

    lines: tuple[ScriptLine, ...] = ()
    default: Answering | None = None
    description: str = ""

    def when(self, rule: Rule, answer: Answering, *, times: int | None = None) -> Script:
        """Returns this script with one more rule, the last; `times`: how often it is used at most."""
        return replace(self, lines=(*self.lines, ScriptLine(rule, answer, times)))

    def otherwise(self, answer: Answering) -> Script:
        """Returns this script with this default answer."""
        return replace(self, default=answer)

    def __add__(self, other: Script) -> Script:
        """Merges two scripts: the rules of this one come first, and its default answer, if it has one, counts."""
        default = other.default if self.default is None else self.default
        description = "; ".join(filter(None, (self.description, other.description)))
        return Script(self.lines + other.lines, default, description)


@dataclass(slots=True)
class _PlayedLine:
    line: ScriptLine
    used: int = 0

    @property
    def is_used_up(self) -> bool:
        return self.line.times is not None and self.used >= self.line.times

    def __str__(self) -> str:
        limit = "" if self.line.times is None else f" [used {self.used} of {self.line.times} times]"
        return f"{self.line.rule}{limit}"


class ScriptPlayer:
    """Plays a script, and counts how often its rules were used. Thread-safe: a rule limited to n uses is used n times,
    however many clients send requests at once."""

    def __init__(self) -> None:
        self._lines: list[_PlayedLine] = []
        self._otherwise: Answering | None = None
        self._trajectories = Trajectories()
        self._lock = threading.Lock()

    def add(self, script: Script) -> None:
        """Adds the rules of a script after those that are there. Its default answer counts if there is none yet."""
        self._lines += map(_PlayedLine, script.lines)
        if self._otherwise is None:
            self._otherwise = script.default

    def when(self, rule: Rule, answer: Answering, times: int | None) -> None:
        """Adds one rule after those that are there."""
        self._lines.append(_PlayedLine(ScriptLine(rule, answer, times)))

    def otherwise(self, answer: Answering) -> None:
        """Sets the default answer."""
        self._otherwise = answer

    def play(self, trajectories: Trajectories) -> None:
        """Answers requests that name one of these recorded runs from it."""
        self._trajectories = trajectories

    def answer(self, request: ChatRequest) -> Answer:
        """Returns the answer of the first rule that matches and is not used up; else of the recorded run that the
        request names; else the default. Raises NoAnswer, NoSuchTurn."""
        if request.is_embedding:
            return self._fault(request) or AssistantMessage()
        chosen = self._choose(request)
        return chosen(request) if callable(chosen) else chosen

    def _choose(self, request: ChatRequest) -> Answering:
        for played in list(self._lines):
            if not played.is_used_up and played.line.rule.matches(request) and self._use(played):
                return played.line.answer
        if request.trajectory is not None:
            # A key without records is an error of the test: an invented answer would hide it.
            return self._trajectories.answer(request.trajectory, request.messages)
        if self._otherwise is None:
            raise NoAnswer(self._explained(request))
        return self._otherwise

    def _fault(self, request: ChatRequest) -> Answer | None:
        """Returns the failure or the delayed answer of the first rule that has one for a request for embeddings; None
        if there is none."""
        for played in list(self._lines):
            fault = played.line.answer
            if (
                isinstance(fault, Failed | Delayed | Dropped)
                and played.line.rule.matches(request)
                and self._use(played)
            ):
                return fault
        return None

    def _use(self, played: _PlayedLine) -> bool:
        with self._lock:
            if played.is_used_up:
                return False
            played.used += 1
            return True

    def _explained(self, request: ChatRequest) -> str:
        last = request.messages[-1]
        text = next(request.texts(last=True))[:80]
        rules = "; ".join(map(str, self._lines)) or "none"
        return (
            f"The mock model has no answer to request {request.number}, whose last message is {last['role']}: {text!r}."
            f" No rule matches and there is no default answer. Rules, in order: {rules}."
        )


# --- the answers of a recorded run ------------------------------------------------------------------------------------

_RETRY_HEADER = "x-stainless-retry-count"


class RecordedAnswers:
    """Answers each request as the model did when the run was recorded: `mock_model.otherwise(RecordedAnswers(...))`.

    Each answer comes with the beginning of the message that it answered. A request gets the first unused answer whose
    message begins like the request's last message; if there is none, the first unused answer, since a prompt may
    change, and branches may run in another order. Thread-safe.
    """

    def __init__(self, answers: Sequence[tuple[str, Answer]]) -> None:
        self._left = list(answers)
        self._count = len(self._left)
        self._failed: dict[bytes, Failed | Dropped] = {}
        self._lock = threading.Lock()

    @property
    def unused(self) -> int:
        """The number of answers that no request has got yet."""
        return len(self._left)

    def __call__(self, request: ChatRequest) -> Answer:
        """Returns the answer to this request. A client's own retry of a failed request gets the same failure."""
        request_digest = request.prefixes[-1][0]
        with self._lock:
            if request.headers.get(_RETRY_HEADER, "0") != "0" and request_digest in self._failed:
                return self._failed[request_digest]
            if not self._left:
                return _none_left(self._count)
            last = next(request.texts(last=True), "")
            fitting = (
                index
                for index, (beginning, _) in enumerate(self._left)
                if (beginning and last.startswith(beginning)) or beginning == last
            )
            _, answer = self._left.pop(next(fitting, 0))
            if isinstance(answer, Failed | Dropped):
                self._failed[request_digest] = answer
            return answer


def _none_left(count: int) -> Failed:
    message = (
        f"The recorded run asked the model {count} times, and this is one more: the program does something else than "
        "when it was recorded. Compare its calls with the recorded ones."
    )
    return Failed(400, message, "invalid_request_error")
