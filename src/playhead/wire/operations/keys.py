"""Answers about the collector's keys."""

from typing import TypedDict


class Key(TypedDict):
    """An API key.  `prefix` is its beginning; the key itself is shown only when it is created, and never stored.

    `scopes`: some of ingest, read and admin.  `last_used` is exact to the hour.  Times are RFC 3339.
    """

    id: int
    name: str
    prefix: str
    scopes: list[str]
    created: str
    expires: str | None
    last_used: str | None


class NewKey(TypedDict):
    """A created key.  `key` is the text that clients send; it cannot be shown again."""

    key: str
    about: Key


class Keys(TypedDict):
    """All keys, oldest first."""

    items: list[Key]


class Revoked(TypedDict):
    """`revoked`: whether there was such a key."""

    revoked: bool


class Session(TypedDict):
    """Whether this collector needs a key, and what the asking browser or program may do: `ingest`, `read`, `admin`."""

    needs_key: bool
    scopes: list[str]
