"""Promises: decisions, answers and events that runs wait for."""

from typing import Any, Literal, TypedDict


class PromiseAnswer(TypedDict):
    """The answer to a promise: the first one counts.  `outcome` says which: `approved` or `denied`, `answered` with a
    `value`, or `expired`: nobody had answered when the run stopped waiting.  `time` is that of the database."""

    outcome: Literal["approved", "denied", "answered", "expired"]
    value: Any
    by: str | None
    reason: str | None
    time: str


class Promise(TypedDict):
    """What a run waits for.  `kind`: `approval` of an `action`, `input` of a person, `event` from outside, `interrupt`
    of a run that is to stop.

    `run` is null for a promise that several runs may wait for, by `key`.  `name` is the tool or the event, `details`
    its arguments or what is asked; `schema` describes the expected value as JSON Schema.  `answer` is null while it is
    open.  `deadline`: when the run stops waiting.
    """

    id: str
    kind: Literal["approval", "input", "event", "interrupt"]
    run: str | None
    key: str
    name: str | None
    action: str | None
    risk: str | None
    details: Any
    schema: Any
    created: str
    deadline: str | None
    answer: PromiseAnswer | None
