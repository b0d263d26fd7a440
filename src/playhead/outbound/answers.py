"""Makes a destination's error safe to show: one printable line, without the keys that were sent to it. Pure."""

import base64
import contextlib
from collections.abc import Iterable, Iterator

# A shorter header is a version or a switch, and occurs in many texts by chance.
_SECRET_CHARACTERS = 6


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
