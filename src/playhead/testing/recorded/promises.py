"""program under test → [promises] → rules of the test.  What a test's program waits for, answered by the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NoReturn, cast

from playhead.api.promises.waiting import answer_of
from playhead.errors import Conflict, NotFound
from playhead.model import promises as p
from playhead.wire.answers.promises import Promise, PromiseAnswer


@dataclass(slots=True)
class AnswerRule:
    """An answer to promises of this kind that ask for `what` (None: for anything), with these details.

    `left`: how many more it answers; None: any number.
    """

    kinds: Sequence[str]
    what: str | None
    key: str | None
    details: Any
    outcome: str
    value: Any
    by: str | None
    reason: str | None
    left: int | None

    def fits(self, promise: Promise) -> bool:
        """Whether it answers this promise."""
        return (
            self.left != 0
            and promise["kind"] in self.kinds
            and (self.what is None or self.what in (promise["action"], promise["name"]))
            and (self.key is None or self.key == promise["key"])
            and (self.details is None or _has(promise["details"], self.details))
        )


class ScriptedPromises:
    """Implements `api.promises.port.PromiseStore` in memory.  Safe for threads.

    A promise is answered by the first rule that fits, when it is opened.  The program never waits: a promise that no
    rule answers calls `fail`, or ends the program as `suspend=True` does, while `suspends` is set.
    """

    def __init__(self, fail: Callable[[str], NoReturn]) -> None:
        """`fail` fails the test, with a message."""
        self._fail = fail
        self._mutex = Lock()
        self._rules: list[AnswerRule] = []
        self._known: dict[str, Promise] = {}
        self.suspends = False
        self.unanswered: list[str] = []
        """What `fail` was called with: the program may have caught the exception."""

    def add(self, rule: AnswerRule) -> None:
        """Answers what fits from now on."""
        with self._mutex:
            self._rules.append(rule)

    def open(self, promise: Promise) -> Promise:
        """Answered at once, if a rule fits."""
        with self._mutex:
            known = self._known.setdefault(promise["id"], promise)
            rule = self._rule(known)
            if known["answer"] is not None or rule is None or rule.outcome == p.EXPIRED:
                return known
            return self._answered(known, rule)

    def announce(self, promise: Promise) -> Promise:
        """The rules answer it when the program asks for the answer: it may have one of its own."""
        with self._mutex:
            return self._known.setdefault(promise["id"], promise)

    def settle(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """The program went on with an answer of its own."""
        return self.answer(promise_id, answer)

    def read(self, promise_id: str) -> Promise | None:
        """As it is known here."""
        return self._known.get(promise_id)

    def answer(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """The first answer counts."""
        with self._mutex:
            known = self._known.get(promise_id)
            return known if known is None or known["answer"] is not None else self._with_answer(known, answer)

    def interrupts(self, runs: Sequence[str]) -> list[Promise]:
        """Open requests to stop one of these runs."""
        return [each for each in self.listed() if each["kind"] == p.INTERRUPT and each["run"] in runs]

    def may_wait(self, promise: Promise) -> bool:
        """Nobody else can answer."""
        with self._mutex:
            if (rule := self._rule(promise)) is not None:
                self._answered(promise, rule)
                return True
        if not self.suspends:
            message = _unanswered(promise)
            self.unanswered.append(message)
            self._fail(message)
        return False

    def listed(self, *, answered: bool = False) -> list[Promise]:
        """What the program has asked, in its order."""
        return [each for each in tuple(self._known.values()) if answered or each["answer"] is None]

    def decide(self, promise_id: str, answer: PromiseAnswer, asked: Promise | None = None) -> Promise:
        """As a person's answer.  Raises NotFound and Conflict."""
        if asked is not None:
            self.announce(asked)
        found = self.answer(promise_id, answer)
        if found is None:
            raise NotFound(f"the program of this test has no promise {promise_id}")
        if found["answer"] != answer:
            raise Conflict(f"{promise_id} has an answer already; that one counts")
        return found

    def _rule(self, promise: Promise) -> AnswerRule | None:
        return next((rule for rule in self._rules if rule.fits(promise)), None)

    def _answered(self, promise: Promise, rule: AnswerRule) -> Promise:
        if rule.left is not None:
            rule.left -= 1
        return self._with_answer(promise, answer_of(rule.outcome, rule.value, rule.by, rule.reason))

    def _with_answer(self, promise: Promise, answer: PromiseAnswer) -> Promise:
        self._known[promise["id"]] = found = cast(Promise, {**promise, "answer": answer})
        return found


def _unanswered(promise: Promise) -> str:
    """Why the test fails, and how it would answer."""
    what = repr(promise["action"] or f"{promise['name']} {promise['key']}")
    details = "" if promise["details"] is None else f" (with {promise['details']!r})"
    if promise["kind"] == p.APPROVAL:
        how = f"playhead_recorder.approve({what}), or deny"
    elif promise["kind"] == p.EVENT:
        how = f"playhead_recorder.answer({promise['name']!r}, VALUE, key={promise['key']!r})"
    else:
        how = f"playhead_recorder.answer({what}, VALUE)"
    return f"the program waits for {what}{details}, and the test does not answer that: say so before with {how}"


def _has(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        named = cast("Mapping[str, Any]", given)
        wanted_values = cast("Mapping[str, Any]", wanted).items()
        return all(name in named and named[name] == value for name, value in wanted_values)
    return given == wanted
