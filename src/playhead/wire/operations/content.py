"""Answers with stored content, by ref; and about instrumentation scopes with content that no dialect could read."""

from typing import Any, NotRequired, TypedDict


class ContentValue(TypedDict):
    """A content of `size` bytes: `value` if it is JSON or text, else `base64`."""

    media_type: str
    size: int
    value: NotRequired[Any]
    base64: NotRequired[str]


class ContentPlace(TypedDict):
    """An event that names a content.  `use`: the name of the ref, or `message` for a message that a call was given."""

    seq: int
    kind: str
    use: str
    time: str


class ContentRun(TypedDict):
    """A run that had a content; `calls` of its model calls were given it.  `places` has the first 20 events."""

    run: str
    name: str | None
    status: str
    started: str
    calls: int
    places: list[ContentPlace]
    more_places: bool


class ContentAbout(TypedDict):
    """What a content is, and who had it.

    `kind` is `message`, `thread`, `json`, `text` or `bytes`; `role` that of a message.  `calls` model calls of `runs`
    runs were given it, which makes `bytes_sent` bytes (`size` times `calls`).  `first_seen` and `last_seen`: when the
    first and the last of these runs began.  `items` is a page of the runs.  `complete` is false if there are so many
    runs that are not indexed yet (they go on, or ended only just) that not all of them were read.
    """

    ref: str
    kind: str
    role: str | None
    media_type: str
    size: int
    first_seen: str | None
    last_seen: str | None
    runs: int
    calls: int
    bytes_sent: int
    complete: bool
    items: list[ContentRun]
    next_cursor: str | None


class ThreadMessages(TypedDict):
    """The messages of a thread, in order.  A message that is not stored is null, and its ref is in `missing`."""

    thread: str
    messages: list[dict[str, Any] | None]
    missing: list[str]


class ScopeCount(TypedDict):
    """An instrumentation scope, and its number of spans and log events with content that no dialect could read."""

    scope: str
    count: int


class Scopes(TypedDict):
    """Scopes with content that no dialect could read, since the collector started; highest counts first.

    There are at most 51: after the first 50 scopes, all others are counted as `other`.
    """

    not_understood: list[ScopeCount]
