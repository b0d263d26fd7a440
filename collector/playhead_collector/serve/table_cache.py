"""A small table, cached for seconds, so that a request needs no query."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar, cast

from playhead_collector.errors import StoreUnavailable

T = TypeVar("T")

# Maximum age of the cache in seconds. A key that was revoked at another collector works until then.
FRESH_SECONDS: Final = 5.0


class TableCache(Generic[T]):
    """What `read` returned, read again when it is older than FRESH_SECONDS, or after `forget`.

    `read` may raise StoreUnavailable: what was read before is kept then, since nothing can be changed without the
    database either. `clock`: seconds, monotonic.
    """

    def __init__(self, read: Callable[[], Awaitable[T]], clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._clock = read, clock
        self._rows: T | None = None
        self._read_at: float | None = None
        self._forgotten = 0
        self._reading = asyncio.Lock()

    async def rows(self) -> T:
        """Returns the rows. Raises StoreUnavailable if they could not be read since the last change."""
        if not self._is_fresh():
            async with self._reading:
                if not self._is_fresh():  # another request has read them meanwhile
                    await self._read_again()
        return cast(T, self._rows)

    def forget(self) -> None:
        """Says that the table was changed: whoever asks from now on gets the change."""
        self._forgotten += 1
        self._read_at = None

    async def _read_again(self) -> None:
        forgotten = self._forgotten
        try:
            self._rows = await self._read()
        except StoreUnavailable:
            if self._read_at is None:
                raise
        # A read that was under way during a change may not have seen it, and is good for this answer only.
        if forgotten == self._forgotten:
            self._read_at = self._clock()

    def _is_fresh(self) -> bool:
        return self._read_at is not None and self._clock() - self._read_at < FRESH_SECONDS
