"""[serve]: which keys there are, and what each may do.  In memory for seconds, so that a request costs no look-up."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.ports.keys import ApiKey, KeyStore

log = logging.getLogger(__name__)

INGEST: Final = "ingest"
READ: Final = "read"
ADMIN: Final = "admin"
SCOPES: Final = (INGEST, READ, ADMIN)
# How long a key that was revoked elsewhere may still be used, and how often the table is read at most.
FRESH_SECONDS: Final = 5.0


@dataclass(slots=True)
class Keyring:
    """All keys.  `master` is the operator's own, which may do everything; None: there is none."""

    store: KeyStore
    project: int
    master: str | None
    clock: Callable[[], float] = time.monotonic
    wall_ns: Callable[[], int] = time.time_ns
    _keys: dict[bytes, ApiKey] = field(default_factory=dict[bytes, ApiKey])
    _used: set[int] = field(default_factory=set[int])
    _read_at: float | None = None
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def locked(self) -> bool:
        """Whether a key is needed.  Raises StoreUnavailable: nobody can tell yet."""
        if self.master is not None:
            return True
        await self._refresh()
        return bool(self._keys)

    async def scopes_of(self, given: Iterable[bytes]) -> frozenset[str] | None:
        """What the first of these that is a key may do; None when none is.  Raises StoreUnavailable.

        Keys are found by their digest: how long that takes says nothing about which digits were right.
        """
        digests = [hashlib.sha256(key).digest() for key in given]
        if self.master is not None and hashlib.sha256(self.master.encode()).digest() in digests:
            return frozenset(SCOPES)
        if not digests:
            return None
        await self._refresh()
        for digest in digests:
            key = self._keys.get(digest)
            if key is not None and (key.expires_ns is None or key.expires_ns > self.wall_ns()):
                self._used.add(key.number)
                return frozenset(key.scopes)
        return None

    def forget(self) -> None:
        """The table has changed: read it again before the next answer."""
        self._read_at = None

    async def _refresh(self) -> None:
        if self._is_fresh():
            return
        async with self._reading:
            if self._is_fresh():  # another request has read it meanwhile
                return
            try:
                await self._read()
            except StoreUnavailable:
                # Without the database nobody revokes a key, either: what was known holds on.
                if self._read_at is None:
                    raise
            self._read_at = self.clock()

    async def _read(self) -> None:
        if used := sorted(self._used):
            await self.store.use_keys(self.project, used)
            self._used.clear()
        self._keys = {key.digest: key for key in await self.store.keys(self.project)}

    def _is_fresh(self) -> bool:
        return self._read_at is not None and self.clock() - self._read_at < FRESH_SECONDS
