"""Promises for the waits of a framework: opened when it stops for a person, answered when it continues.

The framework decides when to stop, and with which answer to continue. This module shows its waits to people, and finds
their answers: in the same process in memory, in a later one by promise ids derived from the framework's ids.
"""

from __future__ import annotations

import dataclasses
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from playhead.api.log_events import log_event_of
from playhead.api.promises.store import PromiseStore, promise_store
from playhead.api.promises.waiting import (
    Question,
    answer_of,
    place_of,
    shown_details,
    shown_prompt,
    until_answered,
)
from playhead.calls import runtime
from playhead.calls.lifecycle import current_span
from playhead.calls.span import ObservedSpan
from playhead.calls.steps import Steps
from playhead.errors import Unanswered
from playhead.kernel.forks import ForkSafeLock
from playhead.model import names
from playhead.model import promises as p
from playhead.model.times import parse_time, rfc3339

if TYPE_CHECKING:
    from playhead.wire.operations.promises import Promise, PromiseAnswer

# Waits kept in memory. For older ones the promise id is derived again.
_MAX_REMEMBERED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkWait:
    """One thing that a framework waits for.

    `wait_id`: the framework's id for the wait. `conversation`: an id that makes `wait_id` unique among all
    conversations; None if the framework has none: then the wait is looked for in its own run only. `prompt`: the
    question as recorded.
    """

    framework: str
    wait_id: str
    conversation: str | None
    kind: Literal["approval", "input"]
    action: str
    name: str | None = None
    details: Any = None
    prompt: Any = None
    schema: Any = None
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Computes the digest: waits with another kind, action, name or details are other questions."""
        object.__setattr__(self, "digest", p.digest_of([self.kind, self.action, self.name, self.details]))

    def promise_id(self, run: str | None, number: int = 0) -> str:
        """Returns the id of the promise. `run`: the run's id, if the wait is unique only in its run. `number`: how
        often the question was asked before."""
        key = f"{self.framework} {self.conversation or ''} {self.wait_id}" + (f" {number}" if number else "")
        return p.promise_id(self.kind, run, key, self.digest)


@dataclass(slots=True)
class _OpenedWait:
    """A wait's promise as this process knows it. `key`: its key in the run's record. `number`: how often the same
    question was asked before. `answer`: the answer, if known here."""

    promise: Promise
    key: str
    run: str | None
    conversation: str | None
    number: int = 0
    answer: PromiseAnswer | None = None
    is_settled: bool = False


class _OpenedWaits:
    """The latest waits that this process has seen."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str, str], list[_OpenedWait]] = OrderedDict()
        self._mutex = ForkSafeLock()

    def add(self, wait: FrameworkWait, opened: _OpenedWait) -> None:
        """Remembers an opened wait, in place of an earlier one of the same run."""
        key = (wait.framework, wait.wait_id, wait.digest)
        with self._mutex:
            others = [entry for entry in self._found.pop(key, []) if entry.run != opened.run]
            self._found[key] = [*others[-_MAX_REMEMBERED:], opened]
            if len(self._found) > _MAX_REMEMBERED:
                self._found.popitem(last=False)

    def of(self, wait: FrameworkWait, run: str | None) -> _OpenedWait | None:
        """Returns the opened wait of this run; else that of this conversation; else, without a conversation, the only
        one that is still open. None if there is none."""
        with self._mutex:
            entries = list(self._found.get((wait.framework, wait.wait_id, wait.digest), ()))
        if run is not None and (run_entries := [entry for entry in entries if entry.run == run]):
            return run_entries[-1]
        if wait.conversation is not None:
            return next((entry for entry in reversed(entries) if entry.conversation == wait.conversation), None)
        still_open = [entry for entry in entries if not entry.is_settled]
        return still_open[0] if len(still_open) == 1 else None


_opened = _OpenedWaits()


# --- when a framework stops -------------------------------------------------------------------------------------------


def open_wait(span: ObservedSpan, wait: FrameworkWait) -> None:
    """Opens the wait's promise, and records the request on `span`. The promise is in the journal's folder when this
    returns; the collector gets it in the background. Does nothing if an agent inside has opened it already."""
    earlier = _opened.of(wait, span.run.id)
    if earlier is not None and earlier.run == span.run.id and not earlier.is_settled:
        return
    number = earlier.number + 1 if earlier is not None and earlier.is_settled else 0
    promise, key = _new_promise(span, wait, number)
    opened = _OpenedWait(promise, key, span.run.id, wait.conversation, number)
    replay = span.run.replay
    opened.answer = replay.promise_answer(key) if replay is not None else None
    _opened.add(wait, opened)
    try:
        if opened.answer is None:
            opened.promise = promise_store().announce(promise)
    finally:
        _note_request(span, wait, promise["id"], key)


def _new_promise(span: ObservedSpan, wait: FrameworkWait, number: int) -> tuple[Promise, str]:
    """Returns a new promise for a wait, and its key. In a resumed run it has the id that the record names; a fork has
    promises of its own."""
    place = f"{place_of(span)}:{wait.kind} {wait.digest}"
    key = f"{place}#{span.run.occurrence(f'promise {place}')}"
    replay = span.run.replay
    recorded = replay.recorded_promise(key) if replay is not None else None
    is_of_run = wait.conversation is None or (replay is not None and replay.is_fork)
    promise_id = recorded or wait.promise_id(span.run.id if is_of_run else None, number)
    return _promise(wait, promise_id, span, span.run.id), key


def _promise(wait: FrameworkWait, promise_id: str, span: ObservedSpan | None, run: str | None) -> Promise:
    return {
        "id": promise_id,
        "kind": wait.kind,
        "run": run,
        "key": f"{wait.framework} {wait.wait_id}",
        "name": wait.name,
        "action": shown_prompt(wait.action, span),
        "risk": None,
        "details": shown_details(wait.details, span),
        "schema": wait.schema,
        "created": rfc3339(time.time_ns()),
        "deadline": None,
        "answer": None,
    }


def _note_request(span: ObservedSpan, wait: FrameworkWait, promise_id: str, key: str) -> None:
    attributes: dict[str, Any] = {names.WAIT_ID: promise_id, names.PROMISE_KEY: key}
    if wait.kind == p.APPROVAL:
        attributes |= {names.PROMISE_ACTION: wait.action, names.TOOL_NAME: wait.name}
        log_event_of(span, names.APPROVAL_REQUESTED, attributes, {names.TOOL_ARGUMENTS_REF: wait.details})
    else:
        log_event_of(span, names.INPUT_REQUESTED, attributes, {names.PROMPT_REF: wait.prompt})


# --- when it continues ------------------------------------------------------------------------------------------------


def record_wait_answer(span: ObservedSpan, wait: FrameworkWait, outcome: str, value: object = None) -> None:
    """Records on `span` the answer with which the framework continues (value, who answered, milliseconds waited), and
    answers the promise with it if it has no answer yet."""
    opened = _opened.of(wait, span.run.id)
    if opened is not None and opened.run == span.run.id:
        promise_id, key = opened.promise["id"], opened.key
    else:
        place = f"{place_of(span)}:{wait.kind} {wait.digest}"
        key = f"{place}!{span.run.occurrence(f'settle {place}')}"
        promise_id = opened.promise["id"] if opened is not None else wait.promise_id(_scope(wait, span))
    replay = span.run.replay
    answer = replay.promise_answer(key) if replay is not None else None
    created = opened.promise["created"] if opened is not None else None
    try:
        if answer is None:
            answer, created = _settled(promise_id, opened, answer_of(outcome, value, p.BY_PROGRAM))
    finally:
        if opened is not None:
            opened.is_settled = True
        final_answer = answer or answer_of(outcome, value, p.BY_PROGRAM)
        _note_answer(span, wait, {names.WAIT_ID: promise_id, names.PROMISE_KEY: key}, final_answer, created, value)


def _settled(promise_id: str, opened: _OpenedWait | None, answer: PromiseAnswer) -> tuple[PromiseAnswer, str | None]:
    """Returns the answer to record, and when the promise was created (None: unknown). `answer`: the program's answer.
    If the stored answer is equal, returns the stored one, so that its author is kept; else `answer`."""
    stored = opened.answer if opened is not None else None
    created = opened.promise["created"] if opened is not None else None
    if stored is None:
        promise = promise_store().settle(promise_id, answer)
        if promise is not None:
            stored, created = promise["answer"], promise["created"]
    return (stored if stored is not None and _is_same(stored, answer) else answer), created


def _is_same(stored: PromiseAnswer, answer: PromiseAnswer) -> bool:
    if answer["outcome"] != p.ANSWERED:
        return stored["outcome"] == answer["outcome"]
    return stored["outcome"] == p.ANSWERED and p.digest_of(stored["value"]) == p.digest_of(answer["value"])


def _note_answer(
    span: ObservedSpan,
    wait: FrameworkWait,
    attributes: dict[str, Any],
    answer: PromiseAnswer,
    created: str | None,
    value: object,
) -> None:
    if created is not None:
        attributes[names.WAITED_MS] = max(0.0, (parse_time(answer["time"]) - parse_time(created)) / 1e6)
    if answer["by"] is not None:
        attributes[names.ANSWERED_BY] = answer["by"]
    reason = {} if answer["reason"] is None else {names.REASON_REF: answer["reason"]}
    if wait.kind == p.APPROVAL:
        attributes[names.APPROVED] = answer["outcome"] == p.APPROVED
        log_event_of(span, names.APPROVAL_RECEIVED, attributes, reason)
    else:
        log_event_of(span, names.INPUT_RECEIVED, attributes, {**reason, names.VALUE_REF: value})


def _scope(wait: FrameworkWait, span: ObservedSpan | None) -> str | None:
    return span.run.id if wait.conversation is None and span is not None else None


# --- for the program --------------------------------------------------------------------------------------------------


def answers_to(waits: Sequence[FrameworkWait], question: Question) -> Steps[list[PromiseAnswer]]:
    """Returns the steps that open the promises of all waits, then wait for their answers; the result is the answers in
    the same order. `question`: how long to wait, and whether to suspend. Raises Suspended, Unanswered and
    JournalUnusable."""
    runtime.recorder()  # set up from the environment, if nothing was configured yet
    span, store = current_span(), promise_store()
    opened: list[_OpenedWait] = yield lambda: [_open_promise(wait, span, store) for wait in waits]
    began = time.monotonic()
    for wait, entry in zip(waits, opened, strict=True):
        if entry.answer is None:
            seconds = None if question.seconds is None else max(0.0, question.seconds - (time.monotonic() - began))
            request = dataclasses.replace(question, kind=wait.kind, action=wait.action, name=wait.name, seconds=seconds)
            answer = yield from until_answered(request, store, entry.promise, span)
            if answer["outcome"] == p.EXPIRED:
                raise Unanswered(f"nobody has answered {wait.action!r} within {question.seconds} seconds; ask again")
            entry.answer = answer
    return [entry.answer for entry in opened if entry.answer is not None]


def _open_promise(wait: FrameworkWait, span: ObservedSpan | None, store: PromiseStore) -> _OpenedWait:
    """Returns the promise of this wait. Opens it if it does not exist, and opens a new one if the last one expired."""
    entry = _opened.of(wait, _run_of(span))
    if entry is None:
        promise = _promise(wait, wait.promise_id(_scope(wait, span)), span, _run_of(span))
        entry = _OpenedWait(promise, "", _run_of(span), wait.conversation)
    while entry.answer is None:
        entry.promise = store.open(entry.promise)
        entry.answer = entry.promise["answer"]
        if entry.answer is None or entry.answer["outcome"] != p.EXPIRED:
            break
        number = entry.number + 1
        promise = _promise(wait, wait.promise_id(_scope(wait, span), number), span, entry.run)
        entry = _OpenedWait(promise, entry.key, entry.run, entry.conversation, number)
    _opened.add(wait, entry)
    return entry


def opened_waits(waits: Sequence[FrameworkWait]) -> Steps[list[FrameworkWait]]:
    """Returns the steps whose result is the waits that have a promise, in this process or in the store."""
    runtime.recorder()
    store = promise_store()

    def are_known() -> list[FrameworkWait]:
        return [wait for wait in waits if _opened.of(wait, None) or store.read(wait.promise_id(None))]

    return (yield are_known)


def _run_of(span: ObservedSpan | None) -> str | None:
    return span.run.id if span is not None else None
