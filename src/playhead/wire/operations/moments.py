"""Moments of a run: its state and checkpoints directly after an event, and the differences between two events."""

from typing import Annotated, Any, NotRequired, TypedDict

from playhead.wire.operations.bounds import MOMENT, NO_NUL, At, Bounds, Hydrate, Most, RunName
from playhead.wire.operations.operation import READ, get, get_list
from playhead.wire.operations.page import Page


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


Moved = TypedDict("Moved", {"from": Any, "to": Any})


class KeyedChange(TypedDict):
    """Differences of a mapping, by key."""

    added: dict[str, Any]
    removed: dict[str, Any]
    changed: dict[str, Moved]


class ListChange(TypedDict):
    """Differences of a list: after the first `same` items, `removed` was replaced by `added`."""

    same: int
    removed: list[Any]
    added: list[Any]


class StateDiff(TypedDict):
    """Differences of the state, by field.  Applied to the state at `from`, they give the one at `to`.

    `changed`: single values; `keyed`: `user_state` and `open_calls` (by span); `lists`: `history`,
    `pending_approvals`, `compressions`, `tripped`, `errors`.
    """

    changed: dict[str, Moved]
    keyed: dict[str, KeyedChange]
    lists: dict[str, ListChange]


ContextEntry = TypedDict(
    "ContextEntry",
    {
        "op": str,
        "from": int | None,
        "to": int | None,
        "role": str | None,
        "message": str,
        "was": str | None,
        "value": NotRequired[Any],
        "was_value": NotRequired[Any],
    },
)
ContextEntry.__doc__ = """A message of either context; `op` is `kept`, `added`, `dropped` or `replaced`.

`was` is the ref of the message that was replaced. `from` and `to` are its positions in the two contexts, from 0."""


class ContextDiff(TypedDict):
    """Differences between the contexts of the last model calls.

    `entries` are in the order of the new context, dropped messages at their old positions.  `moved` of the kept
    messages stand in another order.  `changed` has the refs of `system`, `tools` and `settings` where they differ.
    """

    kept: int
    moved: int
    added: int
    dropped: int
    replaced: int
    entries: list[ContextEntry]
    changed: dict[str, Moved]


class DiffMoment(TypedDict):
    """One of the two compared events, with the last model call up to it and that call's thread."""

    seq: int
    event: str
    time: str
    thread: str | None
    call: int | None


Diff = TypedDict(
    "Diff",
    {
        "run": str,
        "from": DiffMoment,
        "to": DiffMoment,
        "state": StateDiff,
        "context": ContextDiff,
        "values": NotRequired[dict[str, Any]],
        "missing": list[str],
    },
)
Diff.__doc__ = """Differences at event `to`, compared to event `from`; `to` may be the earlier one.

`values` has, by ref, the user's values to which the difference of the states refers."""


# --- operations ------------------------------------------------------------------------------------------------------


StatePreview = Annotated[
    int, Bounds(ge=0, le=10_000, description="Length of the preview of each state, in characters; 0: none.")
]


class MomentOperations:
    """What was so at an event of a run."""

    @get("/runs/{run}/state", scope=READ, tag="moments")
    def state(self, run: RunName, *, at: At = None, hydrate: Hydrate = False) -> StateAt:
        """State of the run directly after an event, computed from its events up to that one."""
        ...

    @get_list("/runs/{run}/checkpoints", scope=READ, tag="moments", page_size=100)
    def checkpoints(self, run: RunName, *, preview: StatePreview = 0, limit: Most = None) -> Page[CheckpointEntry]:
        """Checkpoints of a run, oldest first: states that it can go on from, with refs of state and thread."""
        ...


From = Annotated[
    int | str | None,
    Bounds(name="from", max_length=300, pattern=NO_NUL, as_text=True, description=f"{MOMENT}; default: the first."),
]
To = Annotated[
    int | str | None,
    Bounds(name="to", max_length=300, pattern=NO_NUL, as_text=True, description=f"{MOMENT}; default: the last."),
]


class DiffOperations:
    """Differences between two events of a run."""

    @get("/runs/{run}/diff", scope=READ, tag="moments", in_worker=True)
    def diff(self, run: RunName, before: From = None, after: To = None, *, hydrate: Hydrate = True) -> Diff:
        """Differences in the state and in the model's context between the events `from` and `to`.

        `to` may be earlier than `from`. Applied to the state and messages at `from`, the answer gives those at `to`.
        """
        ...
