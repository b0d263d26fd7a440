"""Waits for the answer to a promise: opened durably, recorded as events, answered once; with or without asyncio.

A wait is a generator of steps (`calls.steps`). Timeouts use a monotonic clock, since the machine's time may be changed
meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from playhead.api.log_events import log_event_of
from playhead.api.promises.stopping import stop_run
from playhead.api.promises.store import PromiseStore, promise_store
from playhead.calls import runtime
from playhead.calls.lifecycle import current_span
from playhead.calls.recorder import Recorder
from playhead.calls.span import ObservedSpan
from playhead.calls.steps import Steps
from playhead.errors import Suspended
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model import promises as p
from playhead.model.canonical import content_of, value_of
from playhead.model.objects.masking import Mask
from playhead.model.objects.plain_forms import safe_repr
from playhead.model.times import parse_time, rfc3339

if TYPE_CHECKING:
    from playhead.wire.operations.promises import Promise, PromiseAnswer

OnReminder = Callable[["Promise"], object]
# Short enough for a person who has just answered; each poll costs a file read or a request.
_FIRST_POLL_SECONDS, _MAX_POLL_SECONDS = 0.05, 1.0
# For promises of programs that record nothing: they are shown, too, and need their secrets masked.
_DEFAULT_MASK = Mask()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and how long to wait. `key`: the program's own key, for a promise that does not belong to one run.
    `seconds` None: no limit. `suspend`: end the process instead of waiting in it."""

    kind: str
    name: str | None = None
    action: str | None = None
    risk: str | None = None
    details: Any = None
    schema: Any = None
    key: str | None = None
    seconds: float | None = None
    suspend: bool = False
    remind_after: float | None = None
    on_reminder: OnReminder | None = None


def wait(question: Question) -> Steps[PromiseAnswer]:
    """Returns the steps that open a question's promise and wait; the result is the answer. Raises Suspended, and
    JournalUnusable if the promise cannot be stored."""
    runtime.recorder()  # set up from the environment, if nothing was configured yet
    span = current_span()
    promise, key = _promise_of(question, span)
    replay = span.run.replay if span is not None else None
    if replay is not None and (recorded := replay.promise_answer(key)) is not None:
        return recorded
    store = promise_store()
    if replay is not None and replay.had_completed:
        stored: Promise | None = yield lambda: store.read(promise["id"])
        if stored is None or stored["answer"] is None:
            replay.refuse_promise(promise["action"] or promise["name"] or promise["kind"])
    promise = yield lambda: store.open(promise)
    if span is not None:
        _note_request(span, promise, key)
    answer = promise["answer"]
    if answer is None:
        answer = yield from until_answered(question, store, promise, span)
    if span is not None and answer["outcome"] != p.EXPIRED:
        _note_answer(span, promise, key, answer)
    return answer


def until_answered(
    question: Question, store: PromiseStore, promise: Promise, span: ObservedSpan | None
) -> Steps[PromiseAnswer]:
    """Returns the steps that wait for the answer to an open promise; the result is the answer, with outcome `expired`
    after the timeout. Raises Suspended."""
    began, pause, reminded = time.monotonic(), _FIRST_POLL_SECONDS, False
    limit = _seconds_left(question, promise)
    while True:
        stored: Promise | None = yield lambda: store.read(promise["id"])
        if stored is not None and stored["answer"] is not None:
            return stored["answer"]
        waited = time.monotonic() - began
        if limit is not None and waited >= limit:
            ended = yield lambda: store.answer(promise["id"], answer_of(p.EXPIRED))
            if ended is not None and ended["answer"] is not None:
                return ended["answer"]  # a person may have answered at the last moment
            return answer_of(p.EXPIRED)
        if question.suspend or not store.may_wait(promise):
            raise _suspended(promise, span)
        if question.remind_after is not None and not reminded and waited >= question.remind_after:
            reminded = True
            _remind(question, promise)
        yield min(pause, _MAX_POLL_SECONDS, *([max(0.0, limit - waited)] if limit is not None else []))
        pause *= 1.5


def answer_of(outcome: Any, value: Any = None, by: str | None = None, reason: str | None = None) -> PromiseAnswer:
    """Makes an answer with the current time."""
    return {"outcome": outcome, "value": value, "by": by, "reason": reason, "time": rfc3339(time.time_ns())}


def _promise_of(question: Question, span: ObservedSpan | None) -> tuple[Promise, str]:
    """Returns the promise and its key in the record. The same question at the same call path of the run always has the
    same promise id; forks share the key."""
    # The digest is of the question itself, not of its redacted form: a resumed run that asks the same gets the answer.
    identity = [question.action, question.name, question.details]
    if question.kind == p.EVENT:
        key, scope, promise_id = question.key or "", None, p.event_id(question.name or "", question.key or "")
    else:
        digest, run = p.digest_of(identity), span.run if span is not None else None
        if question.key is not None:
            key, scope = question.key, None
        else:
            place = f"{place_of(span) if span is not None else ''}:{question.kind} {digest}"
            number = run.occurrence(f"promise {place}") if run is not None else uuid4().hex
            key, scope = f"{place}#{number}", run.id if run is not None else None
        promise_id = p.promise_id(question.kind, scope, key, digest)
    now = time.time_ns()
    deadline = None if question.seconds is None else rfc3339(now + int(question.seconds * 1e9))
    promise: Promise = {
        "id": promise_id,
        "kind": question.kind,  # type: ignore[typeddict-item]
        "run": scope,
        "key": key,
        "name": question.name,
        "action": None if question.action is None else shown_prompt(question.action, span),
        "risk": question.risk,
        "details": shown_details(question.details, span),
        "schema": question.schema,
        "created": rfc3339(now),
        "deadline": deadline,
        "answer": None,
    }
    return promise, key if question.kind != p.EVENT else f"{question.name} {key}"


def place_of(span: ObservedSpan) -> str:
    """Returns the place of a question in its run: the call path, after the process id in a process that was handed a
    part of the run. Equal questions of two such processes are two promises."""
    process = span.run.process
    return span.path if process is None else f"{process} {span.path}"


def shown_prompt(text: str, span: ObservedSpan | None) -> str:
    """Returns a question as people may see it: redacted as in the record, with secrets masked."""
    plain = text if type(text) is str else safe_repr(text)
    to = _recorder_of(span)
    if to is None:
        return _DEFAULT_MASK.text(plain)
    return to.prompt(plain, span.redact if span is not None else None)


def shown_details(details: object, span: ObservedSpan | None) -> Any:
    """Returns the details as plain JSON values, redacted as in the record."""
    if details is None:
        return None
    to = _recorder_of(span)
    if to is None:
        return value_of(content_of(details, _DEFAULT_MASK))
    return to.displayable(details, span.redact if span is not None else None)


def _recorder_of(span: ObservedSpan | None) -> Recorder | None:
    """Returns the recorder of the call; without a call, the recorder of the process. None: nothing is recorded."""
    return span.recorder if span is not None else runtime.recorder()


def _seconds_left(question: Question, promise: Promise) -> float | None:
    """Returns the seconds left to wait; None: no limit. With `suspend`, the time until the promise's deadline, which an
    earlier process may have set."""
    if question.seconds is None or promise["deadline"] is None:
        return question.seconds
    since = parse_time(promise["deadline"]) - parse_time(promise["created"])
    waited = max(0, time.time_ns() - parse_time(promise["created"]))
    return max(0.0, min(question.seconds, (since - waited) / 1e9)) if question.suspend else question.seconds


def _suspended(promise: Promise, span: ObservedSpan | None) -> Suspended:
    who, go_on = "the program", "start the program again"
    if span is not None:
        who, go_on = f"run {span.run.id}", f"`playhead resume {span.run.id} -- COMMAND` goes on"
    error = Suspended(
        f"{who} waits for {promise['action'] or promise['name']!r}: `playhead promises` lists it, and {go_on} once "
        "it is answered",
        promise["id"],
    )
    if span is not None:
        stop_run(span.run, error)
    return error


def _remind(question: Question, promise: Promise) -> None:
    with guarded("call a reminder"):  # it is the user's code
        if question.on_reminder is not None:
            question.on_reminder(promise)


def _note_request(span: ObservedSpan, promise: Promise, key: str) -> None:
    attributes: dict[str, Any] = {names.WAIT_ID: promise["id"], names.PROMISE_KEY: key}
    if promise["kind"] == p.APPROVAL:
        attributes |= {
            name: value
            for name, value in (
                (names.PROMISE_ACTION, promise["action"]),
                (names.PROMISE_RISK, promise["risk"]),
                (names.TOOL_NAME, promise["name"]),
            )
            if value is not None
        }
        details = promise["details"]
        payloads = {} if details is None else {names.TOOL_ARGUMENTS_REF: details}
        log_event_of(span, names.APPROVAL_REQUESTED, attributes, payloads)
        return
    prompt = {
        name: promise[name] for name in ("action", "name", "key", "details", "schema") if promise[name] is not None
    }
    log_event_of(span, names.INPUT_REQUESTED, attributes, {names.PROMPT_REF: prompt})


def _note_answer(span: ObservedSpan, promise: Promise, key: str, answer: PromiseAnswer) -> None:
    waited = parse_time(answer["time"]) - parse_time(promise["created"])
    attributes: dict[str, Any] = {
        names.WAIT_ID: promise["id"],
        names.PROMISE_KEY: key,
        names.WAITED_MS: max(0.0, waited / 1e6),
    }
    if answer["by"] is not None:
        attributes[names.ANSWERED_BY] = answer["by"]
    payloads = {} if answer["reason"] is None else {names.REASON_REF: answer["reason"]}
    if promise["kind"] == p.APPROVAL:
        attributes[names.APPROVED] = answer["outcome"] == p.APPROVED
        log_event_of(span, names.APPROVAL_RECEIVED, attributes, payloads)
    else:
        log_event_of(span, names.INPUT_RECEIVED, attributes, {**payloads, names.VALUE_REF: answer["value"]})
