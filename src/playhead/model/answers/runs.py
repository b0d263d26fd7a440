"""Answers about runs, and the events in them."""

from typing import Any, TypedDict


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
    context_peak: int | None
    compressions: int
    completeness: Completeness
    fork_of: str | None
    fork_at: int | None
    shared: int | None


class Fork(TypedDict):
    """A run that was forked from another at seq `at`."""

    run: str
    at: int | None
    status: str
    started: str
    events: int


class RunDetail(RunSummary):
    """A run, how many attempts there were at it, its forks (newest first), and the paths of what can be asked."""

    attempts: int
    forks: list[Fork]
    more_forks: bool
    links: dict[str, str]


class RecordedEvent(TypedDict):
    """A fact about a run.  `id` is stable; `seq` may still shift while the run is open (see `completeness.sealed`)."""

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
