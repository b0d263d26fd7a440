"""Answers about what the collector forwards to other backends."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import NO_NUL, Bounds, Limit
from playhead.wire.operations.operation import ADMIN, READ, get, post

# --- answers ---------------------------------------------------------------------------------------------------------


class DestinationAnswer(TypedDict):
    """A backend that the collector forwards to, as the collector that was asked sees it.

    `kind`, `url` (scheme and host), `content` are null when it is not configured (any more) and something waits for it.
    `waiting` and `dead` count spans and log events; the others were sent, since the collector started.  `lag_seconds`:
    how long the oldest of what waits has waited.  `failures`: failed requests in a row; until `paused_until` nothing is
    sent.  Times are RFC 3339.
    """

    name: str
    kind: str | None
    url: str | None
    content: str | None
    waiting: int
    lag_seconds: float | None
    dead: int
    sent_spans: int
    sent_logs: int
    left_out: int
    expired: int
    failures: int
    last_error: str | None
    last_error_at: str | None
    accepted_at: str | None
    paused_until: str | None


class Destinations(TypedDict):
    """All destinations, by name."""

    items: list[DestinationAnswer]


class ForwardDeadLetter(TypedDict):
    """Spans (their ids) and log events (their number) of one run that a destination refused, and why."""

    entry: int
    run: str
    reason: str
    arrived: str
    spans: list[str]
    logs: int


class ForwardDeadLetters(TypedDict):
    """A page of dead letters, oldest first. `next_after` is null on the last page."""

    items: list[ForwardDeadLetter]
    next_after: int | None


class Affected(TypedDict):
    """The number of entries of the outbox that were changed; each has spans and log events of one run."""

    entries: int


class Backfilled(TypedDict):
    """The number of runs that will be sent."""

    runs: int


# --- operations ------------------------------------------------------------------------------------------------------

_MOST_ENTRIES = 10_000
LARGEST_NUMBER = 2**63 - 1
"""The largest number that Postgres stores: of an entry, and of a time in ns since 1970."""

DestinationName = Annotated[
    str, Bounds(min_length=1, max_length=100, pattern=NO_NUL, description="The name of a destination.")
]
_Number = Annotated[int, Bounds(ge=1, le=LARGEST_NUMBER)]
Entries = Annotated[
    Sequence[_Number] | None,
    Bounds(max_length=_MOST_ENTRIES, description="The `entry` of dead letters; null: all."),
]
Waiting = Annotated[bool, Bounds(description="Also forget what waits to be sent.")]
After = Annotated[int, Bounds(ge=0, le=LARGEST_NUMBER, description="`next_after` of the page before.")]
OneRun = Annotated[
    str | None,
    Bounds(max_length=300, pattern=NO_NUL, description="A run: its id, a unique part of it, or `last`."),
]
Since = Annotated[
    str | datetime | None,
    Bounds(max_length=50, is_time=True, description="RFC 3339, or a date: all runs that began since then."),
]


class ForwardOperations:
    """Forwarding to other backends."""

    @get("/forward", scope=READ, tag="forward")
    def destinations(self) -> Destinations:
        """List the backends that this collector forwards to, with what waits for each of them."""
        ...

    @get("/forward/{destination}/dead", scope=READ, tag="forward")
    def dead_letters(self, destination: DestinationName, *, after: After = 0, limit: Limit = 100) -> ForwardDeadLetters:
        """List what a destination refused, oldest first, with the reason."""
        ...

    @post("/forward/{destination}/retry", scope=ADMIN, tag="forward")
    def retry_forward(self, destination: DestinationName, entries: Entries = None) -> Affected:
        """Send dead letters again, and end a pause that a failure of the destination has caused."""
        ...

    @post("/forward/{destination}/drop", scope=ADMIN, tag="forward")
    def drop_forward(
        self, destination: DestinationName, entries: Entries = None, *, waiting: Waiting = False
    ) -> Affected:
        """Forget dead letters: they are not sent. The spans stay stored, and can be sent with a backfill."""
        ...

    @post("/forward/{destination}/backfill", scope=ADMIN, tag="forward")
    def backfill(self, destination: DestinationName, run: OneRun = None, *, since: Since = None) -> Backfilled:
        """Send what is stored of one run, or of all runs that began since a time, also if it was sent before."""
        ...
