"""[project]: a run as a row of a list, which the projector writes and lists show."""

from dataclasses import dataclass

from playhead.model.usage import ModelUsage


@dataclass(frozen=True, slots=True)
class HandedProcess:
    """A process that was handed a part of a run. Times are ns since 1970, by its own clock.

    `spans_missing`: gaps in its count. `ended_ns`: when the last of its calls ended; None while one is open.
    """

    process: str
    started_ns: int
    ended_ns: int | None
    spans: int
    spans_missing: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as lists show it.  Times are ns since 1970; counts and sums are those of its state.

    `content_pending` is the store's: refs that its spans name and that were not stored when it was last projected.
    Values that Postgres cannot store are replaced: NUL and lone surrogates in texts, numbers out of a column's range.
    """

    run: str
    name: str | None
    status: str
    started_ns: int
    ended_ns: int | None
    attempt: int = 0
    session: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    events: int = 0
    llm_calls: int = 0
    tool_calls: int = 0
    errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    context_peak: int | None = None
    compressions: int = 0
    spans_missing: int = 0
    content_pending: int = 0
    sealed: bool = False
    fork_of: str | None = None
    fork_at: int | None = None
    shared: int | None = None
    """For a fork: the number of the parent's events before its own; None while that is not known."""
    usage: tuple[ModelUsage, ...] | None = None
    """Token usage by model, of calls that reported it; None in a run that an older version projected."""
    continued_by: tuple[str, ...] | None = None
    """Runs that begin from this one's last checkpoint, oldest first, the latest 100 of them; None in a run that an
    older version projected."""
    traces: tuple[str, ...] = ()
    """The traces that its spans are of, sorted, at most 100."""
    linked: tuple[str, ...] = ()
    """Runs that its spans name and that are no part of it, sorted, at most 100."""
    processes: tuple[HandedProcess, ...] = ()
    """Processes beside its own, at most 100: before others those that have gaps, and those with open calls."""
    process_count: int = 0
    """The number of processes beside its own."""
    processes_open: int = 0
    """How many of them have open calls."""
    parent_missing: bool = False
    """Set by the store: whether a part of its events belongs to a parent that is not stored."""
    forks: int = 0
    """Set by the store: the number of runs that were forked from this one."""
    lost_ns: int | None = None
    """Set by the store for a run that is lost: when its last record was recorded or, in a collector, arrived."""
