"""store → [project] → query: decides when runs are projected.  The only module of this stage that does I/O.

The projection is no part of the ingest transaction: it is a deterministic cache of what stored spans say, so it can be
made later and again, ingest need not wait for it, and every question has it brought up to date first (`project_now`).
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from playhead_collector.errors import StoreCollision, StoreUnavailable
from playhead_collector.project.projector import ProjectSettings, project
from playhead_collector.store.ports import EventStore, Projection, RunWork

log = logging.getLogger(__name__)

Key = tuple[int, str]
Project = Callable[[RunWork, int, ProjectSettings], Projection]

# At 40 us per span, 100 of them are 4 ms: less than that is not worth a thread, more would hold up ingest.
_IN_THREAD = 100
# In the background, a run that took T to project rests for 5 T, so that one that grows all the time costs at most a
# sixth of a core, and all together are projected less often the more there is to do.
_REST = 5
_AT_A_TIME = 200
# A run takes a few ms.
_WORTH_WAITING_FOR = 20
# Of runs that took long to project, and therefore rest for long, a list shows what is there.
_SHORT_NS = 250_000_000
_NS = 1_000_000_000
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0
# Transactions that collide with this one are as short as it is.
_ATTEMPTS = 8
_FIRST_PENALTY_S, _LAST_PENALTY_S = 60.0, 3600.0


@dataclass(slots=True)
class _Rest:
    """Until when the background leaves a run alone; how often in a row it could not be projected."""

    until_ns: int
    failures: int = 0


class Runner:
    """Projects runs that have news, seals those that are quiet, and brings a run up to date for whoever asks."""

    def __init__(
        self,
        store: EventStore,
        *,
        clock: Callable[[], int],
        seal_after_s: float,
        poll_s: float = 1.0,
        pause_s: float = 0.05,
        projector: Project = project,
    ) -> None:
        """`clock` gives ns since 1970.  It looks for news every `poll_s` and after `wake`, `pause_s` apart at least."""
        self.counts: Counter[str] = Counter()  # projected, sealed, failed, store_unavailable
        self._store = store
        self._clock = clock
        self._settings = ProjectSettings(seal_after_ns=int(seal_after_s * _NS))
        self._poll_s = poll_s
        self._pause_s = pause_s
        self._projector = projector
        self._resting: dict[Key, _Rest] = {}
        self._running: dict[Key, asyncio.Task[bool]] = {}
        self._unavailable = 0  # times in a row
        self._woken = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to project in the background."""
        if self._loop is None:
            self._loop = asyncio.create_task(self._work_on(), name="playhead projector")

    def wake(self) -> None:
        """Says that there may be news, so that live views need not wait for the next look."""
        self._woken.set()

    async def stop(self) -> None:
        """Returns when nothing is being projected any more; what is underway is finished."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.cancel()
            await asyncio.wait([loop])
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def project_now(self, project: int, run: str) -> bool:
        """Returns when everything that had arrived for this run at the time of the call is projected.

        False when the projector cannot make anything of this run: then what was projected last stands.  Does nothing
        for a run that is not known.  Raises StoreUnavailable.  Whoever asks at the same time shares one projection.
        """
        key = (project, run)
        underway = self._running.get(key)
        if underway is not None:  # it may have begun before the caller's spans arrived: wait, then look
            await asyncio.wait([underway])
        if not await self._store.is_dirty(project, run):
            return True
        rest = self._resting.get(key)
        if rest is not None and rest.failures and rest.until_ns > self._clock():
            return False
        return await self._shared(key)

    async def catch_up(self) -> None:
        """Projects what arrived lately, so that a list of runs does not show less than its reader knows; of a backlog,
        only as much as a reader may wait for.  Raises StoreUnavailable."""
        for key in await self._store.dirty_runs(_WORTH_WAITING_FOR):
            rest = self._resting.get(key)
            if rest is None or (not rest.failures and rest.until_ns - self._clock() < _SHORT_NS):
                await self._shared(key)

    async def look(self) -> float:
        """One look at what there is to do, and doing it.  Returns the seconds until the next one is due."""
        try:
            now = self._clock()
            self._resting = {key: rest for key, rest in self._resting.items() if rest.failures or rest.until_ns > now}
            limit = _AT_A_TIME + len(self._resting)  # those that rest must not hide the others
            rested_s = await self._project_all(await self._store.dirty_runs(limit))
            # One ns more than quiet enough, since `project` seals runs that have been quiet for longer than that.
            quiet_since = now - self._settings.seal_after_ns - 1
            await self._project_all(await self._store.sealable_runs(quiet_since, limit))
        except StoreUnavailable as error:
            return self._back_off(error)
        self._unavailable = 0
        return min(self._poll_s, rested_s)

    # --- in the background -----------------------------------------------------------------------------------------

    async def _work_on(self) -> None:
        while True:
            self._woken.clear()
            try:
                wait_s = await self.look()
            except Exception:  # whatever it is, tomorrow's runs are to be projected too
                log.exception("looking for runs to project failed; trying again in %.0f s", _LAST_RETRY_S)
                wait_s = _LAST_RETRY_S
            await asyncio.sleep(self._pause_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), wait_s)

    async def _project_all(self, keys: Iterable[Key]) -> float:
        """All but those that rest; returns in how many seconds the first of these is due."""
        due_s = float("inf")
        for key in keys:
            rest, now = self._resting.get(key), self._clock()
            if rest is None or rest.until_ns <= now:
                await self._shared(key)
            else:
                due_s = min(due_s, (rest.until_ns - now) / _NS)
        return due_s

    def _back_off(self, error: StoreUnavailable) -> float:
        self.counts["store_unavailable"] += 1
        self._unavailable += 1
        if self._unavailable == 1:
            log.warning("projecting waits for the store: %s", error)
        return min(_FIRST_RETRY_S * 2 ** (self._unavailable - 1), _LAST_RETRY_S)

    # --- one run ---------------------------------------------------------------------------------------------------

    async def _shared(self, key: Key) -> bool:
        task = self._running.get(key)
        if task is None or task.done():
            task = asyncio.create_task(self._project_one(key))
            self._running[key] = task
            task.add_done_callback(lambda done: self._over(key, done))
        # Shielded: a caller that goes away must not take the projection from the others.
        return await asyncio.shield(task)

    def _over(self, key: Key, task: asyncio.Task[bool]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not complain when nobody waits for it any more

    async def _project_one(self, key: Key) -> bool:
        began = self._clock()
        try:
            sealed = await self._until_stored(key)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - counted and logged below; one run must not stop the others
            self._poisoned(key)
            return False
        took = max(self._clock() - began, 0)
        self.counts["projected"] += 1
        self.counts["sealed"] += sealed
        self._resting[key] = _Rest(began + took + _REST * took)
        return True

    async def _until_stored(self, key: Key) -> bool:
        """Again when it collides with another transaction, which is nobody's fault and soon over."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(StoreCollision):
                return await self._project_and_store(key)
        return await self._project_and_store(key)

    async def _project_and_store(self, key: Key) -> bool:
        """Whether the run was sealed by this."""
        async with self._store.work(*key) as work:
            if work is None:
                return False
            now = self._clock()
            work.result = await self._result(work, now)
            if work.result.unread:
                # What cuts in the context are is told better by what a few messages say.
                await work.read(work.result.unread)
                work.result = await self._result(work, now)
            return work.sealed is None and work.result.row.sealed

    async def _result(self, work: RunWork, now: int) -> Projection:
        if len(work.spans) + len(work.logs) > _IN_THREAD:
            return await asyncio.to_thread(self._projector, work, now, self._settings)
        return self._projector(work, now, self._settings)

    def _poisoned(self, key: Key) -> None:
        """A run that cannot be projected is left alone, for longer every time; the others go on."""
        self.counts["failed"] += 1
        failures = self._resting[key].failures + 1 if key in self._resting else 1
        penalty = min(_FIRST_PENALTY_S * 2 ** (failures - 1), _LAST_PENALTY_S)
        self._resting[key] = _Rest(self._clock() + int(penalty * _NS), failures)
        if failures == 1:
            log.exception("run %s cannot be projected, please report this; trying again in %.0f s", key[1], penalty)
