"""Reads answers to promises from a record: a resumed run does not ask again, nor does a fork for what came before its
cut."""

from collections.abc import Iterable
from typing import Any

from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.promises import ANSWERED, APPROVED, DENIED
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.model.times import rfc3339
from playhead.refs.faithful import refuse_marker
from playhead.replaying.record import Record, refuse_masked
from playhead.wire.operations.promises import PromiseAnswer


def promise_answers(record: Record, logs: Iterable[LogEvent]) -> dict[str, PromiseAnswer]:
    """The answers in these log events, by promise key. Answers whose content is not available are left out."""
    answers: dict[str, PromiseAnswer] = {}
    for entry in logs:
        key = entry.attributes.get(names.PROMISE_KEY)
        if isinstance(key, str) and entry.name in (names.APPROVAL_RECEIVED, names.INPUT_RECEIVED):
            try:
                answers[key] = _answer(record, entry)
            except CannotRestore:
                continue  # the store of promises has it, too
    return answers


def promises_opened(logs: Iterable[LogEvent]) -> dict[str, str]:
    """Ids of the promises that were opened in these log events, by promise key."""
    return {
        str(entry.attributes[names.PROMISE_KEY]): str(entry.attributes.get(names.WAIT_ID))
        for entry in logs
        if entry.name in (names.APPROVAL_REQUESTED, names.INPUT_REQUESTED) and names.PROMISE_KEY in entry.attributes
    }


def _answer(record: Record, entry: LogEvent) -> PromiseAnswer:
    attributes, value = entry.attributes, None
    if entry.name == names.INPUT_RECEIVED:
        outcome, value = ANSWERED, _value(record, attributes.get(names.VALUE_REF))
    else:
        outcome = APPROVED if attributes.get(names.APPROVED) is True else DENIED
    reason = attributes.get(names.REASON_REF)
    by = attributes.get(names.ANSWERED_BY)
    return {
        "outcome": outcome,
        "value": value,
        "by": by if isinstance(by, str) else None,
        "reason": None if reason is None else str(_value(record, reason)),
        "time": rfc3339(entry.time_ns),
    }


def _value(record: Record, ref: object) -> Any:
    content = record.content(ContentRef(ref)) if isinstance(ref, str) else None
    if content is None:
        raise CannotRestore("what was answered is not at hand")
    refuse_masked(content, "the answer of a person", "resume the run on the machine whose journal has it")
    value = value_of(content)
    refuse_marker(value)
    return value
