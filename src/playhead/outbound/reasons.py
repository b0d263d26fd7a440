"""What may be shown of a destination's error: one printable line, without the keys that were sent to it.  Pure."""

import base64
import contextlib
from collections.abc import Iterable, Iterator

# A header of fewer characters is a version or a switch, and stands in many texts by chance.
_SECRET_CHARACTERS = 6


def shown_reason(text: str, headers: Iterable[str], most: int) -> str:
    """`text` as one line of printable characters, `most` at most, without the values of these headers.

    Some servers repeat in an error what they got, or the key in it.
    """
    reason = one_line(text)
    # The longest first: a key may be a part of the header that has it.
    for secret in sorted({each for value in headers for each in _secrets_in(value)}, key=len, reverse=True):
        reason = reason.replace(secret, "[not shown]")
    # Shortened at last: of a secret that is cut, the beginning would be shown.
    return reason[:most]


def one_line(text: str) -> str:
    """`text` with a space for each run of white space and unprintable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _secrets_in(header: str) -> Iterator[str]:
    """What of a header's value is secret: all of it, the key after its scheme, and the password in a Basic one."""
    scheme, _, key = header.rpartition(" ")
    found = [one_line(header), key]
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):
            found.append(base64.b64decode(key, validate=True).decode().partition(":")[2])
    return (secret for secret in found if len(secret) >= _SECRET_CHARACTERS)
