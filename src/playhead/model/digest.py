"""SHA-256, loaded at the first use.  The standard library's implementation loads OpenSSL, 3.7 MB, which a program that
only imports `observe` does not need before something is recorded.
"""

from functools import cache
from typing import Any, Protocol


class Digest(Protocol):
    """A hash object, as `hashlib.sha256` returns it."""

    def update(self, data: "bytes | bytearray | memoryview", /) -> None:
        """Adds bytes."""
        ...

    def digest(self) -> bytes:
        """The digest of all bytes added so far, 32 bytes."""
        ...

    def hexdigest(self) -> str:
        """The digest as 64 hex digits."""
        ...


def sha256(data: "bytes | bytearray | memoryview" = b"") -> Digest:
    """Returns a hash object with `data` added, as `hashlib.sha256` does."""
    return _algorithm()(data)


@cache
def _algorithm() -> Any:
    from hashlib import sha256 as algorithm  # noqa: PLC0415 - see above

    return algorithm
