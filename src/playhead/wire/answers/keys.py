"""Answers about the collector's keys."""

from typing import TypedDict


class Key(TypedDict):
    """A key, by its beginning; the key itself is shown when it is made, and kept nowhere.

    `scopes` are of ingest, read and admin.  `last_used` is the hour in which it was used last.  Times are RFC 3339.
    """

    id: int
    name: str
    prefix: str
    scopes: list[str]
    created: str
    expires: str | None
    last_used: str | None


class NewKey(TypedDict):
    """A key that was just made.  `key` is what clients send; it cannot be shown again."""

    key: str
    about: Key


class Keys(TypedDict):
    """All keys, oldest first."""

    items: list[Key]


class Revoked(TypedDict):
    """Whether there was such a key."""

    revoked: bool
