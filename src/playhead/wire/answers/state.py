"""Answers about the state of a run directly after an event."""

from typing import Any, NotRequired, TypedDict


class OpenCall(TypedDict):
    """A call that was started and has not ended.  If the process is dead, its outcome is unknown."""

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


class CheckpointEntry(TypedDict):
    """A checkpoint of a run: the event that recorded it, refs of the state and of the conversation at that moment.

    `preview`: the beginning of the state as text, if it was asked for.
    """

    seq: int
    id: str
    time: str
    name: str | None
    state: str | None
    thread: str | None
    preview: NotRequired[str | None]


class Checkpoint(TypedDict):
    """The last point from which the run can be resumed: refs of the state and the thread."""

    seq: int
    state: str | None
    thread: str | None


class StateValues(TypedDict):
    """Values of the refs in a state: the messages of its `thread`, and the user's values; null if not stored."""

    thread: list[dict[str, Any] | None]
    user_state: dict[str, Any]
    plan: Any
    checkpoint: Any


class StateAt(TypedDict):
    """State of a run, computed from its events up to `seq`.

    `thread` is the input of the last model call, `history` all messages that were added, in order.  `context_tokens` is
    the number of input tokens of the last model call that reported it.  `input_tokens` and `output_tokens` are sums
    over all calls, also embeddings.  `model` is the last one called, `context_limit` its limit in tokens.  `cost` is
    the sum over the calls up to here, in the currency of the price table.  Both are null if the collector's price table
    has no entry.  `step_calls` counts calls that are neither of models nor of tools, by kind (null: the state was
    stored before they were counted); `tripped` lists the seqs of guardrails that stopped what they checked.
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
    step_calls: dict[str, int] | None
    tripped: list[int]
    user_state: dict[str, str | None]
    open_calls: list[OpenCall]
    pending_approvals: list[str]
    plan: str | None
    checkpoint: Checkpoint | None
    compressions: list[int]
    errors: list[ErrorNote]
    values: NotRequired[StateValues]
    missing: NotRequired[list[str]]
