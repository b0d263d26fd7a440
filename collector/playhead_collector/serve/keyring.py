"""The API keys and their scopes, cached for seconds, so that a request needs no query; and tokens of browser sessions.

A browser that has shown a key once gets a token in a signed cookie. The token works like the key; the browser never
holds the key.

    NUMBER.EXPIRES.MAC    number of the key (0: the operator's), seconds since 1970, HMAC-SHA256 with the key's digest

Nothing is stored: any collector on the same database accepts the token, also after a restart. It ends with its time,
and at once when its key is revoked or expires.
"""

import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final

from playhead_collector.serve.table_cache import TableCache
from playhead_collector.store.ports.keys import ApiKey, KeyReader

log = logging.getLogger(__name__)


# --- session tokens --------------------------------------------------------------------------------------------------

COOKIE: Final = "playhead_session"
# A working day and the evening. After that, the user has to enter the key again.
SESSION_SECONDS: Final = 12 * 3600
# Longer tokens cannot be valid; the limit bounds the work of parsing.
_MAX_TOKEN_LENGTH: Final = 200
_MASTER_NUMBER: Final = 0
# What tokens are for: one for a session is no good for anything else, and the other way round.
_SESSION: Final = "session"


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it was sent. `number` and `expires` (seconds since 1970) can be trusted only after `is_signed` has
    returned True."""

    number: int
    expires: int
    mac: str

    @property
    def is_master(self) -> bool:
        """Whether the token stands for the operator's key."""
        return self.number == _MASTER_NUMBER

    def is_signed(self, digest: bytes, purpose: str) -> bool:
        """Whether the token was made for this purpose with the key that has this SHA-256 digest."""
        return hmac.compare_digest(self.mac, _mac(self.number, self.expires, digest, purpose))


def make_token(number: int | None, digest: bytes, expires: int, purpose: str = _SESSION) -> str:
    """A token for the key with this number (None: the operator's) and SHA-256 digest. It is good for one purpose."""
    number = _MASTER_NUMBER if number is None else number
    return f"{number}.{expires}.{_mac(number, expires, digest, purpose)}"


def token_in(headers: Mapping[str, str]) -> Token | None:
    """Returns the token in the Cookie header; None if there is none, or it is malformed."""
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if morsel is None else read_token(morsel.value)


def read_token(text: str | None) -> Token | None:
    """Returns the token that a text is; None if it is malformed."""
    parts = text.split(".") if text is not None and len(text) <= _MAX_TOKEN_LENGTH else []
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return None
    return Token(int(parts[0]), int(parts[1]), parts[2]) if parts[2].isascii() else None


def _mac(number: int, expires: int, digest: bytes, purpose: str) -> str:
    return hmac.new(digest, f"playhead {purpose} {number}.{expires}".encode(), hashlib.sha256).hexdigest()


# --- keys ------------------------------------------------------------------------------------------------------------

INGEST: Final = "ingest"
READ: Final = "read"
ADMIN: Final = "admin"
SCOPES: Final = (INGEST, READ, ADMIN)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Scopes, name and project of a valid key. `name` and `project_id` are None for the operator's key, which may name
    any project."""

    scopes: frozenset[str]
    name: str | None = None
    project_id: int | None = None

    @property
    def is_operator(self) -> bool:
        """Whether this is the operator's key."""
        return self.project_id is None


_OPERATOR = KeyHolder(frozenset(SCOPES))


def _granted(scopes: Iterable[str]) -> frozenset[str]:
    """What a key with these scopes may do. `admin` may read, too: it can make itself a key that may."""
    given = frozenset(scopes)
    return given | {READ} if ADMIN in given else given


class Keyring:
    """All keys, of all projects.

    `master`: the operator's key with all scopes, from the settings; None: not set. `clock`: seconds, monotonic.
    """

    def __init__(
        self,
        stored: KeyReader,
        master: str | None,
        clock: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.stored, self.master, self.wall_ns = stored, master, wall_ns
        self._cache = TableCache(self._read, clock)
        self._keys: Mapping[bytes, ApiKey] = {}
        self._used: set[tuple[int, int]] = set()  # (project, number)

    async def locked(self) -> bool:
        """Whether requests need a key: they do if any key exists, even an expired one.

        Raises StoreUnavailable if the keys could not be read since the last change.
        """
        if self.master is not None:
            return True
        await self._refresh()
        return bool(self._keys)

    async def holder_of(self, keys: Iterable[bytes]) -> KeyHolder | None:
        """The holder of the first valid key; None if none is valid. Raises StoreUnavailable.

        Keys are compared by their SHA-256 digest, so that response times reveal nothing about a key.
        """
        digests = [hashlib.sha256(key).digest() for key in keys]
        if self.master is not None and hashlib.sha256(self.master.encode()).digest() in digests:
            return _OPERATOR
        if not digests:
            return None
        await self._refresh()
        for digest in digests:
            key = self._keys.get(digest)
            if key is not None and (holder := self._holder(key)) is not None:
                return holder
        return None

    async def holder_of_session(self, token: Token, purpose: str = _SESSION) -> KeyHolder | None:
        """Returns the holder of the key that a token stands for; None if the token is not signed with that key for this
        purpose, or the token or the key has expired. Raises StoreUnavailable."""
        if token.expires * 10**9 <= self.wall_ns():
            return None
        if token.is_master:
            master = self.master
            signed = master is not None and token.is_signed(hashlib.sha256(master.encode()).digest(), purpose)
            return _OPERATOR if signed else None
        await self._refresh()
        for key in self._keys.values():
            if key.number == token.number and token.is_signed(key.digest, purpose):
                return self._holder(key)
        return None

    def signing_key(self, key: bytes) -> tuple[int | None, bytes]:
        """Number (None: the operator's key) and digest of a key that `holder_of` found valid."""
        digest = hashlib.sha256(key).digest()
        stored = self._keys.get(digest)
        is_master = self.master is not None and hashlib.sha256(self.master.encode()).digest() == digest
        return (None if is_master or stored is None else stored.number), digest

    def forget(self) -> None:
        """Drops the cache: the next request reads the table."""
        self._cache.forget()

    def _holder(self, key: ApiKey) -> KeyHolder | None:
        if not key.is_valid(self.wall_ns()):
            return None
        self._used.add((key.project_id, key.number))
        return KeyHolder(_granted(key.scopes), key.name, key.project_id)

    async def _refresh(self) -> None:
        self._keys = await self._cache.rows()

    async def _read(self) -> Mapping[bytes, ApiKey]:
        for project_id in {project_id for project_id, _ in self._used}:
            used = sorted(number for owner, number in self._used if owner == project_id)
            await self.stored.note_used(project_id, used)
        self._used.clear()
        return {key.digest: key for key in await self.stored.of_all_projects()}
