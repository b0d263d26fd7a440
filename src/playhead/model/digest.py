"""SHA-256.  The implementation of the standard library loads OpenSSL, 3.7 MB: a program that only imports `observe`
waits with that until something is recorded.
"""

from functools import cache
from typing import Any, Protocol


class Digest(Protocol):
    """A hash that has taken some bytes and may take more."""

    def update(self, data: "bytes | bytearray | memoryview", /) -> None:
        """Takes more bytes."""
        ...

    def digest(self) -> bytes:
        """The 32 bytes of the digest of all that was taken."""
        ...

    def hexdigest(self) -> str:
        """The same as 64 hex digits."""
        ...


def sha256(data: "bytes | bytearray | memoryview" = b"") -> Digest:
    """Returns a hash that has taken `data`, as `hashlib.sha256` does."""
    return _algorithm()(data)


@cache
def _algorithm() -> Any:
    from hashlib import sha256 as algorithm  # noqa: PLC0415 - see above

    return algorithm
