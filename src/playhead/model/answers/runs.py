"""Answers about runs, and the events in them."""

from typing import Any, TypedDict


class Completeness(TypedDict):
    """Whether the record of a run is whole.

    `spans_missing` counts holes in the order of its calls, `content_pending` the refs whose content has not arrived.
    Once `sealed`, a seq never changes again.
    """

    complete: bool
    spans_missing: int
    content_pending: int
    sealed: bool


class RunSummary(TypedDict):
    """A run as lists show it.  Counts and sums are those of its state after the last event, whose seq is `events`."""

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


class RunDetail(RunSummary):
    """A run and the paths of what can be asked about it."""

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
