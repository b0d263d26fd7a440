"""The calls of a run in time: how long each took with and without what it called, and for which ones the run waited.

A run waits for a call if it would have ended earlier without it: the calls of the longest path.
"""

from typing import Annotated, Literal, TypedDict

from playhead.wire.operations.bounds import Bounds, Cursor, RunName
from playhead.wire.operations.operation import READ, get

TimedKind = Literal["agent", "step", "model", "tool"]
TimedStatus = Literal["open", "completed", "failed", "cancelled"]


class TimedCall(TypedDict):
    """A call, from its event `seq` to `ended_seq` (null: it is under way).

    `parent` is the seq of the call that made it, null: the run did. `agent` is the seq of the agent that it belongs to
    (of an agent itself: the one around it), null: none; `actor` is the agent's name as recorded. `name` is that of the
    model, the tool or the step. `turn` is the number of the model call, or of the one because of which a tool was
    called; else null. `started_ms` counts from the beginning of the run. `own_ms` is the part of `elapsed_ms` in which
    nothing that it called was under way; both are null while it is. `error` is the type of the error that it raised.
    `on_path`: it is on the longest path. `lost`: it completed, and what called it raised, so that its answer was lost.
    """

    seq: int
    ended_seq: int | None
    kind: TimedKind
    name: str
    parent: int | None
    agent: int | None
    actor: str | None
    turn: int | None
    started_ms: float
    elapsed_ms: float | None
    own_ms: float | None
    status: TimedStatus
    error: str | None
    on_path: bool
    lost: bool


class LongestPath(TypedDict):
    """The longest path: time in its calls, of which `model_ms` and `tool_ms` were in models and tools; and the names of
    the agents that made those calls."""

    elapsed_ms: float
    model_ms: float
    tool_ms: float
    agents: list[str]


class Waterfall(TypedDict):
    """The calls of a run in the order in which they began. `calls` is the number of all, `path` their longest path.

    `items` is a page of them; send `next_cursor` as `cursor` to get the next page.
    """

    run: str
    calls: int
    path: LongestPath
    items: list[TimedCall]
    next_cursor: str | None


CallLimit = Annotated[int, Bounds(ge=1, le=20_000, description="Maximum number of calls in the answer.")]
AfterCall = Annotated[
    int,
    Bounds(
        ge=0,
        le=999_999_999,
        description="Only calls that began or ended after this event, or are under way: what is new in a running run.",
    ),
]


class WaterfallOperations:
    """The calls of a run in time."""

    @get("/runs/{run}/waterfall", scope=READ, tag="runs", in_worker=True)
    def waterfall(
        self, run: RunName, *, after: AfterCall = 0, limit: CallLimit = 5_000, cursor: Cursor = None
    ) -> Waterfall:
        """Calls of a run in time: when they began, how long they took with and without what they called.

        Also which of them are on the longest path: those for which the run waited.
        """
        ...
