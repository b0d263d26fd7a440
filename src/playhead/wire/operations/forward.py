"""Answers about what the collector forwards to other backends."""

from typing import TypedDict


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
