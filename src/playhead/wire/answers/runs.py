"""Answers about runs, and the events in them."""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.calls import CallError


class Completeness(TypedDict):
    """Whether the record of a run is whole.

    `spans_missing` counts holes in the order of its calls, `content_pending` the refs whose content has not arrived.
    `parent_missing`: a fork shares events with a run that is not here (not yet, or no more), so its answers begin with
    its own events.  Once `sealed`, a seq never changes again.
    """

    complete: bool
    spans_missing: int
    content_pending: int
    parent_missing: bool
    sealed: bool


class RunSummary(TypedDict):
    """A run as lists show it.  Counts and sums are those of its state after the last event, whose seq is `events`.

    `cost` is what the calls whose price is known cost, in the currency of the prices; null when none is known.
    A fork parts from `fork_of` at seq `fork_at`: the `shared` events before that are its parent's, and count."""

    run: str
    name: str | None
    status: str
    started: str
    ended: str | None
    elapsed_ms: float | None
    attempt: int
    session: str | None
    user: str | None
    tags: list[str]
    agents: list[str]
    models: list[str]
    tools: list[str]
    events: int
    llm_calls: int
    tool_calls: int
    errors: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    context_peak: int | None
    compressions: int
    completeness: Completeness
    fork_of: str | None
    fork_at: int | None
    shared: int | None
    fork_count: int


class Fork(TypedDict):
    """A run that was forked from another at seq `at`."""

    run: str
    at: int | None
    status: str
    started: str
    events: int


class RunDetail(RunSummary):
    """A run, how many attempts there were at it, its forks (newest first), and the paths of what can be asked.

    `metadata` is what the program said about it, as JSON; `error` what a failed run failed with."""

    attempts: int
    metadata: Any
    error: CallError | None
    forks: list[Fork]
    more_forks: bool
    links: dict[str, str]


class RecordedEvent(TypedDict):
    """A fact about a run.  `id` is stable; `seq` may still shift while the run is open (see `completeness.sealed`).

    `previews`, when asked for: the values of `refs` as text, up to the length asked for; a longer one ends with
    `…`.  A value that is not stored, or is no text, has none."""

    id: str
    run: str
    seq: int
    time: str
    kind: str
    priority: str
    span: str | None
    actor: str | None
    late: bool
    data: dict[str, Any]
    refs: dict[str, str]
    previews: NotRequired[dict[str, str]]
