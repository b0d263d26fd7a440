"""[project]: a run as one row of a list: what the projector writes, and what lists show."""

from dataclasses import dataclass

from playhead.model.usage import ModelUsage


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as lists show it.  Times are ns since 1970; counts and sums are those of its state.

    `content_pending` is the store's: refs that its spans name and that were not stored when it was last projected.
    What Postgres cannot keep is replaced: NUL characters and lone surrogates in texts, numbers beyond a column's range.
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
    """Of a fork: how many events of its parent come before its own; None while that is not known."""
    usage: tuple[ModelUsage, ...] | None = None
    """By model, of calls that reported their tokens; None in a run that was projected before this was kept."""
    parent_missing: bool = False
    """The store's: whether a part of its record stands in a run that is not here."""
    forks: int = 0
    """The store's: how many runs were forked from this one."""
