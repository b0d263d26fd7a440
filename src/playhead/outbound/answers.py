"""What a destination's HTTP status means, and its error as text that is safe to show. Pure.

Used wherever spans leave for other backends, by a program (`export_to`) and by the collector (forwarding).
"""

import base64
import contextlib
from collections.abc import Iterable, Iterator
from enum import Enum

# A shorter header is a version or a switch, and occurs in many texts by chance.
_SECRET_CHARACTERS = 6


class Verdict(Enum):
    """Meaning of an answer."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """An item in the request can never be accepted."""
    BROKEN = "broken"
    """The destination failed, at this request or in general."""
    UNAVAILABLE = "away"
    """The destination cannot be reached, or asks to try again later."""
    MISCONFIGURED = "misconfigured"
    """The destination accepts no request of ours: key, address or permissions are wrong."""


def verdict_of(status: int) -> Verdict:
    """Returns the verdict for an HTTP status."""
    match status:
        case _ if 200 <= status < 300:
            return Verdict.ACCEPTED
        case 408 | 425 | 429 | 502 | 503 | 504:  # 425: too early, the request may be a replay
            return Verdict.UNAVAILABLE
        case 400 | 413 | 422:
            return Verdict.REFUSED
        case _ if status >= 500 and status != 501:  # 501: it does not know what it is asked, and will not tomorrow
            return Verdict.BROKEN
        case _:
            # Wrong keys, paths and methods; and redirects, which are not followed, because they could lead to any host.
            return Verdict.MISCONFIGURED


def shown_reason(text: str, headers: Iterable[str], most: int) -> str:
    """Returns `text` as one line of at most `most` printable characters, without the values of these headers.

    Some servers repeat the request, or the key in it, in their error.
    """
    reason = one_line(text)
    # The longest first: a key may be a part of its header.
    for secret in sorted({candidate for value in headers for candidate in _secrets_in(value)}, key=len, reverse=True):
        reason = reason.replace(secret, "[not shown]")
    # Cut last: of a secret that was cut before, the beginning would be shown.
    return reason[:most]


def one_line(text: str) -> str:
    """Returns `text` with one space for each sequence of white space and unprintable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _secrets_in(header: str) -> Iterator[str]:
    """Returns the secrets in a header's value: the whole value, the key after the scheme, and the password of a Basic
    header."""
    scheme, _, key = header.rpartition(" ")
    secrets = [one_line(header), key]
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):
            secrets.append(base64.b64decode(key, validate=True).decode().partition(":")[2])
    return (secret for secret in secrets if len(secret) >= _SECRET_CHARACTERS)
