"""Answers about runs and their events; about leases and log events, which a resume needs; and OTLP, for exports."""

from typing import Any, NotRequired, TypedDict

from playhead.wire.operations.calls import CallError
from playhead.wire.operations.scores import RecordedScore


class Completeness(TypedDict):
    """Whether anything is missing of what a run has recorded so far.

    It does not say that the run has ended: the record of a lost run has no hole, but lacks the end (see `status`).
    `spans_missing` is the number of gaps in the numbering of its calls, `content_pending` the number of refs whose
    content has not arrived.  `parent_missing`: the run is a fork, and the run with which it shares events is not
    stored; answers begin with the fork's own events.  In a `sealed` run, no seq changes any more.
    """

    complete: bool
    spans_missing: int
    content_pending: int
    parent_missing: bool
    sealed: bool


class RunSummary(TypedDict):
    """Summary of a run.  Counts and sums are those of its state after the last event; `events` is that event's seq.

    `cost` is the sum over calls with a known price, in the currency of the price table; null if no price is known.
    `context_limit` is the limit in tokens of the model whose context had `context_peak`, by the same table; null if it
    is unknown, or if the run's models have different ones.
    `status`: `running`, `completed`, `failed`, `cancelled`, or `lost`: the processes of the run are gone and its end
    was never recorded; `last_record` says when its last record came, and is null for all other runs. A lost run is
    running again when more of it arrives, such as when it is resumed.
    A fork differs from the run `fork_of` from seq `fork_at` on; it shares the `shared` events before, which are part of
    the counts.
    """

    run: str
    name: str | None
    status: str
    started: str
    ended: str | None
    last_record: str | None
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
    context_limit: int | None
    compressions: int
    completeness: Completeness
    fork_of: str | None
    fork_at: int | None
    shared: int | None
    fork_count: int


class Fork(TypedDict):
    """A fork of a run, made at its seq `at`."""

    run: str
    at: int | None
    status: str
    started: str
    events: int


class RunProcess(TypedDict):
    """A process that was handed a part of a run and recorded it, by its own clock.

    `spans_missing` is the number of gaps in its own numbering; these are part of the run's. `ended` is null while one
    of its calls is open: it is at work, or lost.
    """

    process: str
    started: str
    ended: str | None
    spans: int
    spans_missing: int


class RunDetail(RunSummary):
    """A run with its number of attempts, its forks (newest first), and `links`: paths of further answers.

    `metadata` is JSON from the program; `error` is the error of a failed run.  `scores` are the latest 100, without
    those that a later score replaces.  `continues`: the run whose last checkpoint this one begins from;
    `continued_by`: runs that begin from this one's, oldest first, the latest 100 of them.

    `processes` recorded parts of the run beside its own process: `process_count` of them, at most 100 are listed, those
    with gaps or open calls first. `traces` are those of its spans, at most 100. `linked` are runs that are no part of
    each other and of which one names the other: up to 100 that this one names, and up to 100 that name it.
    """

    attempts: int
    metadata: Any
    error: CallError | None
    forks: list[Fork]
    more_forks: bool
    scores: list[RecordedScore]
    continues: str | None
    continued_by: list[str]
    processes: list[RunProcess]
    process_count: int
    traces: list[str]
    linked: list[str]
    links: dict[str, str]


class RecordedEvent(TypedDict):
    """An event of a run.  `id` is stable; `seq` may change until the run is sealed (see `completeness.sealed`).

    `previews`, if requested, has the values of `refs` as texts, cut at the requested length, where `…` is added.  A
    value that is not stored, or is not text, has no preview.
    """

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


# Functional, because one of the names is a keyword.
EventsMoved = TypedDict("EventsMoved", {"run": str, "from": int})
EventsMoved.__doc__ = (
    """Live: a late event moved others. From seq `from` on, the events of the run have other seqs now."""
)


class RunLease(TypedDict):
    """The lease of a run: no other process can take it before `until`, unless it is forced.

    `holder` is the id of the process's journal, `process` its name for people, `attempt` which attempt at the run it
    makes.  Times are those of the database.
    """

    run: str
    holder: str
    process: str
    attempt: int
    since: str
    until: str


class Released(TypedDict):
    """`released`: whether this holder had the lease."""

    released: bool


class RunLog(TypedDict):
    """A log event as stored, with refs in place of payloads: state, checkpoints, annotations and others."""

    name: str
    time: str
    trace: str | None
    span: str | None
    attributes: dict[str, Any]
    scope: str
    resource: dict[str, Any]


class OtlpRequest(TypedDict):
    """An OTLP request in JSON: one of the two."""

    resourceSpans: NotRequired[list[dict[str, Any]]]
    resourceLogs: NotRequired[list[dict[str, Any]]]
