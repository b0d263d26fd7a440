"""program under test → [promises] → rules of the test. Promises of the program under test, answered by the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NoReturn, cast

from playhead.api.promises.waiting import answer_of
from playhead.errors import Conflict, NotFound
from playhead.model import promises as p
from playhead.wire.operations.promises import Promise, PromiseAnswer


@dataclass(slots=True)
class AnswerRule:
    """An answer to promises of these kinds for the action or name `action_or_name`, with this key and these details;
    None for any of the three.

    `left`: how many more promises it answers; None: any number.
    """

    kinds: Sequence[str]
    action_or_name: str | None
    key: str | None
    details: Any
    outcome: str
    value: Any
    by: str | None
    reason: str | None
    left: int | None

    def fits(self, promise: Promise) -> bool:
        """Whether this rule answers the promise."""
        return (
            self.left != 0
            and promise["kind"] in self.kinds
            and (self.action_or_name is None or self.action_or_name in (promise["action"], promise["name"]))
            and (self.key is None or self.key == promise["key"])
            and (self.details is None or _has(promise["details"], self.details))
        )


class ScriptedPromises:
    """Implements `api.promises.store.PromiseStore` in memory. Thread-safe.

    When a promise is opened, the first rule that fits answers it. The program never waits: for a promise that no rule
    answers, `fail` is called; while `suspends` is set, the program ends instead, as with `suspend=True`.
    """

    def __init__(self, fail: Callable[[str], NoReturn]) -> None:
        """`fail` fails the test with a message."""
        self._fail = fail
        self._mutex = Lock()
        self._rules: list[AnswerRule] = []
        self._known: dict[str, Promise] = {}
        self.suspends = False
        self.unanswered: list[str] = []
        """Messages of all calls of `fail`, since the program may catch the exception."""

    def add(self, rule: AnswerRule) -> None:
        """Adds a rule, for promises from now on."""
        with self._mutex:
            self._rules.append(rule)

    def open(self, promise: Promise) -> Promise:
        """Opens a promise, and answers it at once if a rule fits. Returns it."""
        with self._mutex:
            stored = self._known.setdefault(promise["id"], promise)
            rule = self._rule(stored)
            if stored["answer"] is not None or rule is None or rule.outcome == p.EXPIRED:
                return stored
            return self._answered(stored, rule)

    def announce(self, promise: Promise) -> Promise:
        """Stores a promise without answering it. Rules answer it when the program asks for the answer, since the
        program may have an answer of its own."""
        with self._mutex:
            return self._known.setdefault(promise["id"], promise)

    def settle(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers a promise with the answer with which the program went on."""
        return self.answer(promise_id, answer)

    def read(self, promise_id: str) -> Promise | None:
        """Returns a promise; None if it is unknown."""
        return self._known.get(promise_id)

    def answer(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers a promise that has no answer yet. Returns it with its first answer; None if it is unknown."""
        with self._mutex:
            stored = self._known.get(promise_id)
            return stored if stored is None or stored["answer"] is not None else self._with_answer(stored, answer)

    def interrupts(self, runs: Sequence[str]) -> list[Promise]:
        """Returns open requests to stop one of these runs."""
        return [promise for promise in self.listed() if promise["kind"] == p.INTERRUPT and promise["run"] in runs]

    def may_wait(self, promise: Promise) -> bool:
        """Answers a promise for which the program would wait. Returns True if a rule fits. If not, calls `fail` or,
        while `suspends` is set, returns False."""
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
        """Returns the promises in the order in which the program opened them; with `answered`, also those that have an
        answer."""
        return [promise for promise in tuple(self._known.values()) if answered or promise["answer"] is None]

    def ids(self, start: str) -> set[str]:
        """Returns the ids of all promises of the program that begin with `start`."""
        return {promise_id for promise_id in tuple(self._known) if promise_id.startswith(start)}

    def decide(self, promise_id: str, answer: PromiseAnswer, new_promise: Promise | None = None) -> Promise:
        """Answers a promise as a person would; `new_promise` is stored first. Raises NotFound if the promise is
        unknown, and Conflict if it has another answer."""
        if new_promise is not None:
            self.announce(new_promise)
        promise = self.answer(promise_id, answer)
        if promise is None:
            raise NotFound(f"the program of this test has no promise {promise_id}")
        if promise["answer"] != answer:
            raise Conflict(f"{promise_id} has an answer already; that one counts")
        return promise

    def _rule(self, promise: Promise) -> AnswerRule | None:
        return next((rule for rule in self._rules if rule.fits(promise)), None)

    def _answered(self, promise: Promise, rule: AnswerRule) -> Promise:
        if rule.left is not None:
            rule.left -= 1
        return self._with_answer(promise, answer_of(rule.outcome, rule.value, rule.by, rule.reason))

    def _with_answer(self, promise: Promise, answer: PromiseAnswer) -> Promise:
        self._known[promise["id"]] = answered = cast(Promise, {**promise, "answer": answer})
        return answered


def _unanswered(promise: Promise) -> str:
    """Returns the message of the failed test: what the program waits for, and the call that would answer it."""
    subject = repr(promise["action"] or f"{promise['name']} {promise['key']}")
    details = "" if promise["details"] is None else f" (with {promise['details']!r})"
    if promise["kind"] == p.APPROVAL:
        how = f"playhead_recorder.approve({subject}), or deny"
    elif promise["kind"] == p.EVENT:
        how = f"playhead_recorder.answer({promise['name']!r}, VALUE, key={promise['key']!r})"
    else:
        how = f"playhead_recorder.answer({subject}, VALUE)"
    return f"the program waits for {subject}{details}, and the test does not answer that: say so before with {how}"


def _has(actual: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        named = cast("Mapping[str, Any]", actual)
        wanted_values = cast("Mapping[str, Any]", wanted).items()
        return all(name in named and named[name] == value for name, value in wanted_values)
    return actual == wanted
