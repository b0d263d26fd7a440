"""The answer of a model that was asked once more what a recorded call asked, with some of it changed."""

from typing import Any, TypedDict


class AskedAnswer(TypedDict):
    """What a model answered: the tools that it asked for, as `{"name", "arguments"}`, and its text."""

    tools: list[dict[str, Any]]
    text: str | None


class AskedAgain(TypedDict):
    """A call of a run asked again, of a model that the operator configured.  Nothing of it becomes a part of the run.

    `seq` is that of the recorded call, `changed` what differs from it (`model`, `system`, `messages`).  `answer` is the
    new answer, `recorded` the one in the record, null if it has none; `same`: both are equal.  `settings` are those of
    the recorded request that were taken over.  `usage` has the tokens that were reported.  The whole is kept as content
    under `ref` until the run is deleted.
    """

    run: str
    seq: int
    model: str
    created: str
    changed: list[str]
    system: str | None
    messages: list[dict[str, Any]] | None
    settings: dict[str, Any]
    answer: AskedAnswer
    recorded: AskedAnswer | None
    same: bool
    finish_reason: str | None
    usage: dict[str, int]
    ref: str
