"""Answers about scores."""

from typing import TypedDict


class RecordedScore(TypedDict):
    """A score of a run, or of its call `span`.  `value` is a number, a boolean, or the name of a category; `label` is
    what the evaluator calls a number.

    `source` is `api` for scores that were posted, or else the instrumentation that reported them (`playhead`: the
    program).  `author` is what the poster said, `key` the name of the API key.  `time` of a posted score is the
    database's, else the program's.  `latest`: no later score of this name replaces it.  A comment that is too long for
    an event is content: its ref is `explanation`.
    """

    run: str
    id: str
    name: str
    value: float | bool | str
    label: str | None
    span: str | None
    source: str
    author: str | None
    key: str | None
    comment: str | None
    explanation: str | None
    time: str
    latest: bool
