"""[projection]: the row of a run in lists of runs."""

from dataclasses import dataclass
from typing import Literal

from playhead.model.usage import ModelUsage
from playhead.projection.happened import LastMoment


@dataclass(frozen=True, slots=True)
class HandedProcess:
    """A process that was handed a part of a run. Times are ns since 1970, by its own clock.

    `spans_missing`: missing numbers in its count. `ended_ns`: when its last call ended; None while a call is open.
    """

    process: str
    started_ns: int
    ended_ns: int | None
    spans: int
    spans_missing: int


@dataclass(frozen=True, slots=True)
class FirstSuspect:
    """The step of a failed run that most likely went wrong: the event `seq` of turn `turn`, and why.

    `found_ns`: when it was found, in ns since 1970; scores and other runs that came later may change the answer.
    """

    strength: Literal["strong", "likely", "weak"]
    rule: str
    reason: str
    seq: int
    turn: int
    found_ns: int


@dataclass(frozen=True, slots=True)
class OutcomeFacts:
    """What a store knows of a run beside its record.

    `score_name`, `score`: the run's newest score as a whole that is a number or a boolean; None: there is none.
    `waiting`: it has an open promise, or has recorded a question that no promise answers. `suspect`: the first one;
    None: nothing was found, or not looked for yet. `cost`: of calls with a known price; None: no price is known.
    `price_table`: the number of the table of prices with which that was computed.
    """

    score_name: str | None = None
    score: float | bool | None = None
    waiting: bool = False
    suspect: FirstSuspect | None = None
    cost: float | None = None
    price_table: int | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
    """The row of a run in lists.  Times are ns since 1970; counts and sums are copied from its state.

    `content_pending` is set by the store: the number of refs in its spans whose content was not stored at the last
    projection.
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
    """For a fork: the number of the parent's events that it shares; None while that is not known."""
    usage: tuple[ModelUsage, ...] = ()
    """Token usage by model, of calls that reported it."""
    continued_by: tuple[str, ...] = ()
    """Ids of the latest 100 runs that start from this run's last checkpoint, oldest first."""
    traces: tuple[str, ...] = ()
    """Trace ids of its spans, sorted, at most 100."""
    linked: tuple[str, ...] = ()
    """Ids of other runs that its spans link, sorted, at most 100."""
    processes: tuple[HandedProcess, ...] = ()
    """Processes other than its own, at most 100: those with missing calls first, then those with open calls."""
    process_count: int = 0
    """The number of processes other than its own."""
    processes_open: int = 0
    """The number of processes other than its own that have open calls."""
    parent_missing: bool = False
    """Set by the store: whether it shares events with a parent that is not stored."""
    forks: int = 0
    """Set by the store: the number of runs that were forked from this one."""
    lost_ns: int | None = None
    """Set by the store for a lost run: when its last record was recorded or, in a collector, arrived."""
    tier: int = 0
    """Set by the store: what is kept of it (0: all), by the numbers of `store.ports.tiers.Tier`."""
    thinned_ns: int | None = None
    """Set by the store: when it came into its tier; None: it is hot."""
    thinned_rule: str | None = None
    """Set by the store: the rule by which it came into its tier."""
    pinned: bool = False
    """Set by the store: whether no rule of retention is about it."""
    happened: LastMoment | None = None
    """What happened in it; None: nothing that is worth a line, or an older version of Playhead projected it."""
    facts: OutcomeFacts = OutcomeFacts()
    """Set by the store, except for the cost, which is set by whoever projects the run."""
