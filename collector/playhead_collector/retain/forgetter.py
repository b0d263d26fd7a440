"""store → [retain] → serve: works through requests to forget, and has the sweeps made that erase their contents.

Requests are rows in the database, so any collector goes on with them after another one died. Each step is a transaction
of well under a second, followed by a rest, as of a sweep.
"""

import logging
from collections import Counter
from collections.abc import Callable
from time import monotonic
from uuid import UUID

from playhead_collector.background import BackgroundLoop, keep_working
from playhead_collector.errors import (
    ContentCorrupt,
    EncryptionMissing,
    KeyDestroyed,
    ObjectStoreUnavailable,
    StoreCollision,
    StoreUnavailable,
    WrongEncryptionKey,
)
from playhead_collector.logs import ThrottledLog
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.ports.forgetting import ForgettingStore
from playhead_collector.store.ports.retention import Swept

log = ThrottledLog(logging.getLogger(__name__))

_POLL_SECONDS = 10.0
_REST = 4
# A request works for so long before it answers; the rest is done in the background.
_BY_HAND_SECONDS = 3.0
# What is to be read is in the object store, which is down or has other bytes, or is encrypted with another key.
_UNREADABLE = (ObjectStoreUnavailable, ContentCorrupt, WrongEncryptionKey, EncryptionMissing, KeyDestroyed)


class Forgetter:
    """Forgets in the background, and for a moment on request."""

    def __init__(
        self, store: ForgettingStore, sweeper: Sweeper, *, hold_s: float, clock: Callable[[], float] = monotonic
    ) -> None:
        """`hold_s`: for how long senders believe that what they have sent is stored. `clock` gives seconds."""
        self.hold_ns = int(hold_s * 1_000_000_000)
        self.counts: Counter[str] = Counter()  # steps
        self._store = store
        self._sweeper = sweeper
        self._clock = clock
        self._loop = BackgroundLoop(self._work_on, "playhead forgetter")

    def start(self) -> None:
        """Starts the background loop."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. What is in progress is continued by the next collector."""
        await self._loop.stop()

    async def work_now(self, project_id: int, job: UUID) -> None:
        """Makes as many steps of a request, and of the sweep after it, as fit into some seconds. Raises
        StoreUnavailable."""
        until = self._clock() + _BY_HAND_SECONDS
        while self._clock() < until and await self._step(project_id, job):
            pass
        if project_id not in await self._store.erasing_due():
            return
        while self._clock() < until:
            swept = await self._sweep(project_id)
            if swept is None or swept.phase is None:
                break
        await self._step(project_id, job)

    async def run_once(self) -> float:
        """Makes a step of each open request, and of each sweep that is to erase something. Returns the seconds until
        the next call. Raises StoreUnavailable."""
        began, worked = self._clock(), False
        for project_id, job in await self._store.open_jobs():
            worked = await self._step(project_id, job) or worked
        for project_id in await self._store.erasing_due():
            worked = await self._sweep(project_id) is not None or worked
        return _REST * (self._clock() - began) if worked else _POLL_SECONDS

    async def _step(self, project_id: int, job: UUID) -> bool:
        """Makes a step of a request. Returns whether there is more to do now; requests of others go on in any case."""
        try:
            worked = await self._store.step(project_id, job)
        except _UNREADABLE as error:
            log.warning("a request to forget of project %d waits: %s", project_id, error)
            return False
        except StoreUnavailable:
            raise
        except Exception as error:
            log.warning("a request to forget of project %d failed; please report this", project_id, exc_info=error)
            return False
        self.counts["steps"] += worked
        return worked

    async def _sweep(self, project_id: int) -> Swept | None:
        """Makes a step of a sweep. Returns None if it has to wait; those of others go on in any case."""
        try:
            return await self._sweeper.step(project_id)
        except StoreCollision:  # another sweeps, or the request's own writer was in the way
            return None
        except _UNREADABLE as error:
            log.warning("what is to be erased of project %d waits: %s", project_id, error)
            return None
        except StoreUnavailable:
            raise
        except Exception as error:
            log.warning("sweeping project %d failed; please report this", project_id, exc_info=error)
            return None

    async def _work_on(self) -> None:
        await keep_working(self.run_once, "forgetting")
