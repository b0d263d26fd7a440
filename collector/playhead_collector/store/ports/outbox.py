"""The store's interface for forwarding: one outbox per destination. Ingest adds entries, workers send and remove
them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.projection.log_events import describes_call

# The last 56 bits of a trace id are random (W3C Trace Context, level 2), and so are those of a UUID of version 7.
_RANDOM_DIGITS = 14
_IDS = 16**_RANDOM_DIGITS


@dataclass(frozen=True, slots=True)
class Recipient:
    """The settings of a destination that ingest needs. `sample`: the share of runs that the destination gets, 0 to
    1."""

    name: str
    sample: float = 1.0
    logs: bool = False
    """Whether the destination takes log events besides spans."""
    calls_in_logs: bool = False
    """Whether the destination takes log events that describe calls (as spans or parts of spans) and evaluations (as
    scores)."""

    def takes_log(self, log: LogEvent) -> bool:
        """Returns whether the destination takes this log event. Evaluations that are recorded on spans are sent as log
        events only to destinations that take scores."""
        if names.EVALUATION_ON_SPAN in log.attributes:
            return self.calls_in_logs
        return self.logs or (self.calls_in_logs and (log.name == names.EVALUATION or describes_call(log)))

    def takes(self, run: str) -> bool:
        """Returns whether the run is in the sample.  `run`: 32 hex digits.  The result depends on the run id only, so
        it is the same in every collector and at any time, like OpenTelemetry's sampling by trace id."""
        return self.sample >= 1 or int(run[-_RANDOM_DIGITS:], 16) < self.sample * _IDS


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """Spans and log events of one run for one destination.

    `spans` and `logs`: keys (`store.packing.span_pages`) of the items to send; None: all stored items of the run.
    `attempts`: how often a worker took the entry before.  Times are ns since 1970.
    """

    number: int
    project_id: int
    run: str
    created_ns: int
    attempts: int
    spans: frozenset[bytes] | None
    logs: frozenset[bytes] | None
    page: str | None = None
    """The digest of the page that had the items when they arrived; None if they were in no page."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """The unsent part of an entry. `spans` and `logs`: as in `OutboxEntry`. `due_ns`: when to try again. `reason`: why
    the destination refused it."""

    entry: OutboxEntry
    spans: Iterable[bytes] | None
    logs: Iterable[bytes] | None
    due_ns: int = 0
    reason: str | None = None
    counts: bool = True
    """Whether the worker tried to send the entry. If not, its number of attempts stays the same."""


@dataclass(frozen=True, slots=True)
class OutboxSettlement:
    """The results of entries that a worker took. `done`: sent or not wanted; `later`: to be sent again; `dead`: refused
    for good."""

    done: list[OutboxEntry] = field(default_factory=list[OutboxEntry])
    later: list[Remaining] = field(default_factory=list[Remaining])
    dead: list[Remaining] = field(default_factory=list[Remaining])


@dataclass(frozen=True, slots=True)
class OutboxStatus:
    """Numbers of one destination: waiting entries and their spans and log events; dead letters and their spans and log
    events. `oldest_ns`: creation time of the oldest waiting entry; None if nothing waits."""

    destination: str
    waiting: int
    waiting_items: int
    oldest_ns: int | None
    dead: int
    dead_items: int


@dataclass(frozen=True, slots=True)
class OutboxDeadLetter:
    """Spans and log events that a destination refused.  `spans`: span ids in hex; `logs`: the number of log events."""

    number: int
    run: str
    reason: str
    created_ns: int
    spans: Sequence[str]
    logs: int


class OutboxStore(Protocol):
    """Stores spans and log events that wait to be forwarded.  Several collectors may work on an outbox at the same
    time."""

    async def claim_entries(self, destination: str, limit: int, until_ns: int) -> Sequence[OutboxEntry]:
        """Returns due entries, longest waiting first. No other worker gets them before `until_ns`. If the worker that
        took them dies, another one gets them after that time."""
        ...

    async def renew_entries(self, entries: Sequence[OutboxEntry], until_ns: int) -> None:
        """Extends the time until which no other worker gets these entries to `until_ns`."""
        ...

    async def entry_items(self, entry: OutboxEntry) -> tuple[Sequence[Span], Sequence[LogEvent]]:
        """Returns the entry's ended spans by start time, and its log events by time. Deleted items are left out.
        Evaluations that are recorded on its spans are among the log events
        (`playhead.projection.scores.evaluations_on`)."""
        ...

    async def finish_entries(self, settlement: OutboxSettlement) -> None:
        """Stores the results of entries, in one transaction."""
        ...

    async def outbox_status(self) -> Sequence[OutboxStatus]:
        """Returns the numbers of each destination that has entries."""
        ...

    async def dead_letters(self, destination: str, limit: int, after: int = 0) -> Sequence[OutboxDeadLetter]:
        """Returns dead letters of the destination, oldest first. `after`: the number of the last one of the previous
        page."""
        ...

    async def retry_dead(self, destination: str, numbers: Sequence[int] | None = None) -> int:
        """Makes dead letters (None: all) due again. Returns how many."""
        ...

    async def drop_entries(self, destination: str, numbers: Sequence[int] | None, *, waiting: bool) -> int:
        """Deletes dead letters, with `waiting` also waiting entries. `numbers`: only these (None: all). Returns how
        many."""
        ...

    async def backfill(self, project_id: int, recipient: Recipient, run: str | None, since_ns: int) -> int:
        """Adds stored data to the outbox: of this run, or (None) of all runs in the sample that began since `since_ns`.
        Returns the number of runs."""
        ...

    async def expire_entries(self, destination: str, before_ns: int, max_items: int) -> int:
        """Deletes entries from before `before_ns`, and the oldest entries as long as there are more than
        `max_items` spans and log events. Includes dead letters. Returns how many spans and log events the deleted
        entries named."""
        ...

    async def forget_destinations(self, configured: Sequence[str], before_ns: int) -> int:
        """Deletes entries from before `before_ns`, of all destinations that are not `configured`. Returns how
        many."""
        ...
