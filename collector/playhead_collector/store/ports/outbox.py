"""The values of outboxes: what waits to be forwarded to a destination, and what came of sending it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


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
