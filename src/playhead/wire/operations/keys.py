"""Answers about the collector's keys."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import Bounds
from playhead.wire.operations.operation import ADMIN, Scope, delete, get, post

# --- answers ---------------------------------------------------------------------------------------------------------


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
    """Whether this collector needs a key, and what the asking browser or program may do: `ingest`, `read`, `admin`.

    `is_operator`: it may name any project, and change projects.
    """

    needs_key: bool
    scopes: list[str]
    is_operator: bool


# --- operations ------------------------------------------------------------------------------------------------------

_TEN_YEARS = 10 * 366 * 86_400
_LARGEST_NUMBER = 2**31 - 1

KeyName = Annotated[
    str,
    Bounds(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$", description="Name of the key, for people."),
]
Scopes = Annotated[
    Sequence[Scope],
    Bounds(min_length=1, max_length=3, description="ingest: send spans, content; read: query; admin: keys, deletion."),
]
ExpiresSeconds = Annotated[
    float | None, Bounds(gt=0, le=_TEN_YEARS, description="Expires after so many seconds; null: never.")
]
KeyNumber = Annotated[int, Bounds(ge=1, le=_LARGEST_NUMBER, description="The `id` of a key.")]


class KeyOperations:
    """API keys."""

    @get("/keys", scope=ADMIN, tag="keys")
    def keys(self) -> Keys:
        """List all keys, including expired ones. Of the key itself, only the first characters are shown."""
        ...

    @post(
        "/keys",
        scope=ADMIN,
        tag="keys",
        also_refuses={409: "No key that lasts would have the scope `admin`, or there are too many keys."},
    )
    def create_key(self, name: KeyName, scopes: Scopes, *, expires_seconds: ExpiresSeconds = None) -> NewKey:
        """Create a key. Only this answer contains it; the collector stores a hash.

        As soon as there is a key, every request needs one. So the first key must have the scope `admin` and never
        expire, unless PLAYHEAD_ADMIN_KEY is set.
        """
        ...

    @delete(
        "/keys/{number}",
        scope=ADMIN,
        tag="keys",
        also_refuses={409: "It is the last key that lasts and has the scope `admin`."},
    )
    def revoke_key(self, number: KeyNumber) -> Revoked:
        """Revoke a key. This collector refuses it at once, others on the same database within seconds.

        The last key with the scope `admin` that does not expire can be revoked only while PLAYHEAD_ADMIN_KEY is set.
        """
        ...
