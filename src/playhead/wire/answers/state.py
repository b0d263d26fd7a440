"""Answers about a moment: what was, right after an event."""

from typing import Any, NotRequired, TypedDict


class OpenCall(TypedDict):
    """Started and not finished: in doubt, if the process is dead."""

    span: str
    kind: str
    name: str
    seq: int
    call_id: str | None


class ErrorNote(TypedDict):
    """An error that the event at `seq` reported."""

    seq: int
    error_type: str
    message: str


class Checkpoint(TypedDict):
    """Where the run can be continued from."""

    seq: int
    state: str | None
    thread: str | None


class StateValues(TypedDict):
    """What the refs of a state name: the messages of its `thread`, and the user's values; null where not stored."""

    thread: list[dict[str, Any] | None]
    user_state: dict[str, Any]
    plan: Any
    checkpoint: Any


class StateAt(TypedDict):
    """The fold of a run's events up to `seq`.

    `thread` is what the model saw last, `history` every message that was ever added, in order.  `context_tokens` is the
    input of the last call that reported it; `usage` of all calls is summed in `input_tokens` and `output_tokens`.
    `context_limit` is that of `model`, the one that was asked last; `cost` is what calls up to here cost, in the
    currency of the prices.  Both are null when the collector's table of prices does not say.
    """

    run: str
    seq: int
    time: str
    status: str
    name: str | None
    attempt: int
    agent: str | None
    thread: str | None
    history: list[str]
    context_tokens: int | None
    model: str | None
    context_limit: int | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    llm_calls: int
    tool_calls: int
    user_state: dict[str, str | None]
    open_calls: list[OpenCall]
    pending_approvals: list[str]
    plan: str | None
    checkpoint: Checkpoint | None
    compressions: list[int]
    errors: list[ErrorNote]
    values: NotRequired[StateValues]
    missing: NotRequired[list[str]]
