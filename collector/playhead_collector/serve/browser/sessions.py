"""Signed cookies: a browser that has shown a key once gets a token that works like the key, and never holds the key.

    NUMBER.EXPIRES.MAC    number of the key (0: the operator's), seconds since 1970, HMAC-SHA256 with the key's digest

Nothing is stored: any collector on the same database accepts the token, also after a restart. It ends with its time,
and at once when its key is revoked or expires.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final

COOKIE: Final = "playhead_session"
# A working day and the evening. After that, the user has to enter the key again.
SESSION_SECONDS: Final = 12 * 3600
# Longer tokens cannot be valid; the limit bounds the work of parsing.
_LONGEST: Final = 200
_MASTER: Final = 0


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
        return self.number == _MASTER

    def is_signed(self, digest: bytes) -> bool:
        """Whether the token was made with the key that has this SHA-256 digest."""
        return hmac.compare_digest(self.mac, _mac(self.number, self.expires, digest))


def make_token(number: int | None, digest: bytes, expires: int) -> str:
    """A token for the key with this number (None: the operator's) and SHA-256 digest."""
    number = _MASTER if number is None else number
    return f"{number}.{expires}.{_mac(number, expires, digest)}"


def token_in(headers: Mapping[str, str]) -> Token | None:
    """Returns the token in the Cookie header; None if there is none, or it is malformed."""
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    parts = morsel.value.split(".") if morsel is not None and len(morsel.value) <= _LONGEST else []
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return None
    return Token(int(parts[0]), int(parts[1]), parts[2]) if parts[2].isascii() else None


def _mac(number: int, expires: int, digest: bytes) -> str:
    return hmac.new(digest, f"playhead session {number}.{expires}".encode(), hashlib.sha256).hexdigest()
