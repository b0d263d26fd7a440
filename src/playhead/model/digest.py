"""SHA-256.  The implementation of the standard library loads OpenSSL, 3.7 MB: a program that only imports `observe`
waits with that until something is recorded.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashlib import _Hash  # pyright: ignore[reportPrivateUsage] - the only name of the type


def sha256(data: "bytes | bytearray | memoryview" = b"") -> "_Hash":
    """Returns a hash object that has taken `data`, as `hashlib.sha256` does."""
    return _algorithm()(data)


@cache
def _algorithm() -> Any:
    from hashlib import sha256 as algorithm  # noqa: PLC0415 - see above

    return algorithm
