"""The store's interface for forwarding: an outbox per destination, filled by ingest and emptied by workers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.project.logs.log_events import describes_call

# The last 56 bits of a trace id are random (W3C Trace Context, level 2), and so are those of a UUID of version 7.
_RANDOM_DIGITS = 14
_IDS = 16**_RANDOM_DIGITS


@dataclass(frozen=True, slots=True)
class Recipient:
    """A destination as ingest has to know it. `sample`: the share of runs that it gets, 0 to 1."""

    name: str
    sample: float = 1.0
    logs: bool = False
    """Whether it takes log events besides spans."""
    calls_in_logs: bool = False
    """Whether it takes those log events that describe calls, as spans or as a part of them, and evaluations, as
    scores."""

    def takes_log(self, log: LogEvent) -> bool:
        """Whether the log event is for it. Evaluations on spans are log events only where scores are sent."""
        if names.EVALUATION_ON_SPAN in log.attributes:
            return self.calls_in_logs
        return self.logs or (self.calls_in_logs and (log.name == names.EVALUATION or describes_call(log)))

    def takes(self, run: str) -> bool:
        """Whether the run is in the sample.  `run`: 32 hex digits.  The same everywhere and at any time, since it
        depends on the id only, like OpenTelemetry's sampling by trace id."""
        return self.sample >= 1 or int(run[-_RANDOM_DIGITS:], 16) < self.sample * _IDS


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """Spans and log events of one run for one destination.

    `spans` and `logs`: keys (`store.packing.span_keys`) of those that are to be sent; None: all of the run that are
    stored.  `attempts`: how often a worker took it before.  Times are ns since 1970.
    """

    number: int
    project_id: int
    run: str
    created_ns: int
    attempts: int
    spans: frozenset[bytes] | None
    logs: frozenset[bytes] | None
    page: str | None = None
    """The digest of the page that had them when they arrived."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of an entry that was sent in part, or not at all. `reason`: why it was refused."""

    entry: OutboxEntry
    spans: Iterable[bytes] | None
    logs: Iterable[bytes] | None
    due_ns: int = 0
    reason: str | None = None
    counts: bool = True
    """Whether this was an attempt at sending it."""


@dataclass(frozen=True, slots=True)
class OutboxSettlement:
    """What became of entries that a worker took: sent or not wanted, to be sent later, refused for good."""

    done: list[OutboxEntry] = field(default_factory=list[OutboxEntry])
    later: list[Remaining] = field(default_factory=list[Remaining])
    dead: list[Remaining] = field(default_factory=list[Remaining])


@dataclass(frozen=True, slots=True)
class OutboxStatus:
    """Figures of one destination: entries, spans and log events that wait, and those that were refused for good."""

    destination: str
    waiting: int
    waiting_items: int
    oldest_ns: int | None
    dead: int
    dead_items: int


@dataclass(frozen=True, slots=True)
class OutboxDeadLetter:
    """Spans and log events that a destination refused.  Ids of spans are hex."""

    number: int
    run: str
    reason: str
    created_ns: int
    spans: Sequence[str]
    logs: int


class OutboxStore(Protocol):
    """Keeps what is to be forwarded until it was.  Several collectors may work on it at the same time."""

    async def take_entries(self, destination: str, limit: int, until_ns: int) -> Sequence[OutboxEntry]:
        """The entries that are due, longest waiting first. No other worker gets them before `until_ns`; if the worker
        that took them dies, another one gets them then."""
        ...

    async def keep_entries(self, entries: Sequence[OutboxEntry], until_ns: int) -> None:
        """Puts the time off at which other workers may take them."""
        ...

    async def entry_items(self, entry: OutboxEntry) -> tuple[Sequence[Span], Sequence[LogEvent]]:
        """The entry's ended spans by start time, and its log events by time; without those that were deleted.
        Evaluations on its spans are among the log events (`playhead.project.logs.scores.evaluations_on`)."""
        ...

    async def settle_entries(self, settlement: OutboxSettlement) -> None:
        """Stores what became of entries, in one transaction."""
        ...

    async def outbox_status(self) -> Sequence[OutboxStatus]:
        """Figures of each destination that has entries."""
        ...

    async def dead_letters(self, destination: str, limit: int, after: int = 0) -> Sequence[OutboxDeadLetter]:
        """What the destination refused, oldest first; `after`: the last number of the page before."""
        ...

    async def retry_dead(self, destination: str, numbers: Sequence[int] | None = None) -> int:
        """Makes dead letters (None: all) due again. Returns how many."""
        ...

    async def drop_entries(self, destination: str, numbers: Sequence[int] | None, *, waiting: bool) -> int:
        """Deletes dead letters (None: all); with `waiting`, all entries that wait as well. Returns how many."""
        ...

    async def backfill(self, project_id: int, recipient: Recipient, run: str | None, since_ns: int) -> int:
        """Enters what is stored of a run, or (None) of all runs in the sample that began since. Returns the number of
        runs."""
        ...

    async def expire_entries(self, destination: str, before_ns: int, max_items: int) -> int:
        """Deletes entries from before then, and the oldest of those that are beyond `max_items` spans and log events;
        dead letters, too. Returns how many spans and log events they named."""
        ...

    async def forget_destinations(self, known: Sequence[str], before_ns: int) -> int:
        """Deletes entries from before then of all destinations that are not `known`. Returns how many."""
        ...
