"""store → [retain] → serve: decides when content that no run names is swept.

A sweep is due when runs were deleted longer ago than the grace period. It goes in steps of well under a second, each
followed by a rest of four times its length: so it takes at most a fifth of one core, and of one connection to the
database.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from time import monotonic

from playhead_collector.background import BackgroundLoop
from playhead_collector.errors import (
    ContentCorrupt,
    EncryptionMissing,
    KeyDestroyed,
    ObjectStoreUnavailable,
    StoreUnavailable,
    WrongEncryptionKey,
)
from playhead_collector.store.ports.projects import ProjectStore
from playhead_collector.store.ports.retention import RetentionStore, Swept

log = logging.getLogger(__name__)

_NS = 1_000_000_000
# Interval of looking for due sweeps. Content is deleted days after its runs, so an hour more does not matter.
_LOOK_SECONDS = 3600.0
_REST = 4
_BETWEEN_SECONDS = 0.05
_AGAIN_SECONDS = 60.0
# Rows of a deleted project that are removed in one transaction: some 100 ms.
_ROWS_AT_A_TIME = 5_000
# A sweep by request makes as many steps as fit into this time.
_BY_HAND_SECONDS = 2.0


class Sweeper:
    """Sweeps in the background, and on request."""

    def __init__(
        self,
        store: RetentionStore,
        projects: ProjectStore | None = None,
        *,
        grace_s: float,
        tombstone_s: float,
        changes_s: float = 86_400.0,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`projects`: whose deleted ones are removed. `clock` gives seconds. `changes_s` is how long clients of live
        streams may ask for what they missed."""
        self.counts: Counter[str] = Counter()  # sweeps, contents, nodes
        self.grace_s = grace_s
        self._store = store
        self._projects = projects
        self._tombstone_ns = int(tombstone_s * _NS)
        self._changes_ns = int(changes_s * _NS)
        self._clock = clock
        self._sleep = sleep
        self._loop = BackgroundLoop(self._work_on, "playhead sweeper")

    def start(self) -> None:
        """Starts the background loop."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. A sweep in progress is continued by the next collector."""
        await self._loop.stop()

    async def sweep_now(self, project_id: int) -> Swept:
        """Makes some steps of the current sweep, or of a new one. Raises StoreUnavailable."""
        until = self._clock() + _BY_HAND_SECONDS
        while True:
            swept = await self.step(project_id)
            if swept.phase is None or self._clock() >= until:
                return swept

    async def run_once(self) -> None:
        """Forgets expired tombstones, leases and changes; makes the sweeps that are due. Raises StoreUnavailable."""
        await self._store.forget_tombstones(self._tombstone_ns)
        await self._store.forget_leases()
        while await self._store.forget_changes(self._changes_ns):  # some thousand at a time
            await self._sleep(_BETWEEN_SECONDS)
        while self._projects is not None and await self._projects.remove_deleted(_ROWS_AT_A_TIME):
            await self._sleep(_BETWEEN_SECONDS)
        waiting: StoreUnavailable | None = None
        for project_id in await self._store.sweeps_due(int(self.grace_s * _NS)):
            try:
                await self._sweep(project_id)
            except (ObjectStoreUnavailable, WrongEncryptionKey, EncryptionMissing) as error:  # others may need none
                waiting = error
            except KeyDestroyed:  # just now: nothing of the project is swept any more
                continue
            except ContentCorrupt as error:
                log.error("project %d is not swept: %s", project_id, error)  # noqa: TRY400 - it is no error of ours
            except StoreUnavailable:
                raise
            except Exception:  # the other projects are swept
                log.exception("sweeping project %d failed; please report this", project_id)
        if waiting is not None:
            raise waiting

    async def _sweep(self, project_id: int) -> None:
        while True:
            began = self._clock()
            if (await self.step(project_id)).phase is None:
                return
            await self._sleep(_REST * (self._clock() - began))

    async def step(self, project_id: int) -> Swept:
        """Makes the next step of a sweep, or begins one. Raises StoreUnavailable."""
        swept = await self._store.sweep_step(project_id, int(self.grace_s * _NS))
        if swept.phase is None:
            self.counts.update(sweeps=1, contents=swept.contents, nodes=swept.nodes)
            log.info("swept: %d contents and %d nodes of threads that no run names", swept.contents, swept.nodes)
        return swept

    async def _work_on(self) -> None:
        while True:
            wait_s = _LOOK_SECONDS
            try:
                await self.run_once()
            except StoreUnavailable:
                wait_s = _AGAIN_SECONDS
            except Exception:  # an error must not end all later sweeps
                log.exception("sweeping failed; trying again in %.0f s", _LOOK_SECONDS)
            await self._sleep(wait_s)
