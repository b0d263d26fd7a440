"""store → [projection] → read: decides when runs are projected.

The projection is not part of the ingest transaction: it is a deterministic cache computed from stored spans.  So it can
be made later and again, ingest does not wait for it, and each query updates it first (`project_now`). The states of
growing runs are kept in memory up to a limit; the least recently used ones are dropped.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Protocol

from playhead.model.usage import ModelUsage
from playhead.projection.inputs import Projection
from playhead.projection.projector import ProjectSettings, project
from playhead.projection.run_row import OutcomeFacts
from playhead.wire.delays import delay_s
from playhead_collector.background import BackgroundLoop
from playhead_collector.errors import (
    ContentCorrupt,
    KeyDestroyed,
    ObjectStoreUnavailable,
    StoreCollision,
    StoreUnavailable,
    WrongEncryptionKey,
)
from playhead_collector.project_turns import ProjectTurns
from playhead_collector.store.ports.projections import CachedRun, ProjectionStore, RunWork, UnprojectedRun

log = logging.getLogger(__name__)

Key = tuple[int, str]
Project = Callable[[RunWork, int, ProjectSettings], Projection]

# 100 spans take 4 ms (40 us each): less is not worth a thread, more in the event loop would delay ingest.
_IN_THREAD = 100
# In the background, a run that took T to project rests for 5 T. So a run that grows all the time costs at most a sixth
# of a core, and all runs are projected less often when there is more to do.
_REST_FACTOR = 5
_AT_A_TIME = 512
_SEALED_AT_A_TIME = 1_000
# Looking for lost runs reads all runs that are running, which may be thousands.
_LOOK_FOR_LOST_NS = 10_000_000_000
# Projecting a run of a million events takes longer, but who stops the collector does not wait for that.
_FINISH_S = 10.0
# Runs in one transaction: a fraction of a second's work, since a query for one of them waits for all.
_RUNS_TOGETHER = 64
_BYTES_TOGETHER = 256 * 1024
# If several projects have news, so many runs of each, one after the other, until news are looked for again.
_RUNS_IN_TURN = 8
# So often news are looked for before anything else is done, such as sealing.
_LOOKS = 32
# A project that had news so long ago is expected to have some again.
_HAD_NEWS_NS = 10_000_000_000
# A reader waits for at most this many runs. Each takes a few ms.
_WORTH_WAITING_FOR = 20
# A list of runs shows the last projection of runs that took long to project and therefore rest for long.
_SHORT_NS = 250_000_000
_NS = 1_000_000_000
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0
# The other transaction of a collision is as short as this one, so it is over soon.
_ATTEMPTS = 8
_FIRST_PENALTY_S, _LAST_PENALTY_S = 60.0, 3600.0


class Pricing(Protocol):
    """A table of prices."""

    @property
    def number(self) -> int:
        """A number that another table does not have."""
        ...

    def cost_of(self, usage: Iterable[ModelUsage]) -> float | None:
        """Returns the cost of calls; None if no price is known."""
        ...


class GrowingRunCache:
    """Projection states by project and run.

    `take` removes a state, so that only one caller uses it. Put the state back after its result was stored. After an
    error, do not put it back: it may be ahead of the store.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._runs: OrderedDict[Key, CachedRun] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._runs)

    def take(self, key: Key) -> CachedRun | None:
        """Removes and returns the state of a run; None when there is none."""
        self.bytes -= self._sizes.pop(key, 0)
        return self._runs.pop(key, None)

    def put(self, key: Key, state: CachedRun) -> None:
        """Stores a state, and drops the least recently used ones to make room. A state that is larger than the limit is
        not kept."""
        self.take(key)
        self._runs[key] = state
        self._sizes[key] = state.progress.bytes
        self.bytes += self._sizes[key]
        while self.bytes > self._most_bytes:
            self.take(next(iter(self._runs)))


@dataclass(slots=True)
class _RetryState:
    """The time until which the background skips a run, and how often in a row projecting it failed."""

    until_ns: int
    failures: int = 0


@dataclass(slots=True)
class _Computed:
    """The result of projecting a run of a batch."""

    work: RunWork
    error: Exception | None = None
    took_ns: int = 0

    @property
    def items(self) -> int:
        return len(self.work.spans) + len(self.work.logs)

    @property
    def seals(self) -> bool:
        result = self.work.result
        return self.work.sealed is None and result is not None and result.row.sealed


class ProjectionRunner:
    """Projects runs with new data, seals runs that received nothing for a while, and updates single runs for
    queries."""

    def __init__(
        self,
        store: ProjectionStore,
        *,
        clock: Callable[[], int],
        seal_after_s: float,
        lost_after_s: float = 900.0,
        foreign_lost_after_s: float = 3600.0,
        poll_s: float = 1.0,
        pause_s: float = 0.05,
        projector: Project = project,
        kept_bytes: int = 64 * 1024 * 1024,
        pricing: Pricing | None = None,
        turns: ProjectTurns | None = None,
    ) -> None:
        """`clock` returns ns since 1970.

        `poll_s`, `pause_s`: looks for new data every `poll_s` seconds and after `wake`, but at least `pause_s`
        seconds apart.
        `seal_after_s`: an ended run that received nothing for this many seconds is sealed.
        `lost_after_s`, `foreign_lost_after_s`: a running run that received nothing for this many seconds gets the
        status `lost`. The second applies to runs of other instrumentations. An ended run also waits `lost_after_s`
        seconds for its other processes before it is sealed.
        `kept_bytes`: limit of memory for the states of growing runs.
        `pricing`: computes the costs by which lists are sorted; None: they are unknown.
        `turns`: those of projects, with all their work.
        """
        # projected, started_over, sealed, lost, failed, store_unavailable
        self.counts: Counter[str] = Counter()
        self._store = store
        self._clock = clock
        self._settings = ProjectSettings(
            seal_after_ns=int(seal_after_s * _NS), lost_after_ns=int(lost_after_s * _NS), keep_state=kept_bytes > 0
        )
        self.growing_runs = GrowingRunCache(kept_bytes)
        self._lost_after_ns = int(lost_after_s * _NS)
        self._foreign_lost_after_ns = int(foreign_lost_after_s * _NS)
        self._look_for_lost_ns = 0
        self._poll_s = poll_s
        self._pause_s = pause_s
        self._projector = projector
        self._pricing = pricing
        self._price_table = None if pricing is None else pricing.number
        self._delayed: dict[Key, _RetryState] = {}
        self._turns = turns or ProjectTurns(1)
        self._had_news: dict[int, int] = {}  # when each project had news, of the last while
        self._without_key: set[int] = set()  # projects whose key cannot be unwrapped here, which the log has said
        self._in_turn: dict[int, asyncio.Task[None]] = {}  # what projects runs of each project, if there are several
        self._arrived_in_turn = False  # news of one of these projects
        self._running: dict[Key, asyncio.Task[set[Key]]] = {}
        self._unavailable = 0  # times in a row
        self._waiting = 0  # runs with news, as of the last look
        self._woken = asyncio.Event()
        self._loop = BackgroundLoop(self._work_on, "playhead projector")

    def start(self) -> None:
        """Starts projecting in the background."""
        self._loop.start()

    def is_busy(self) -> bool:
        """Returns whether so many runs wait to be projected that other work in the background should wait."""
        return self._waiting > _RUNS_TOGETHER

    def rest_of_others(self) -> int:
        """Returns for how many times the duration of its work other background work should rest: more while runs wait
        to be projected."""
        return _REST_FACTOR if self._waiting else 1

    def wake(self, project_id: int) -> None:
        """Makes the runner look for new data of a project soon, so that live views need not wait for the next regular
        look."""
        if project_id in self._in_turn:  # the next look is when that is done
            self._arrived_in_turn = True
        else:
            self._woken.set()

    async def stop(self, finish_s: float = _FINISH_S) -> None:
        """Stops after the projections in progress are finished, but cancels them after `finish_s` seconds. The data of
        cancelled ones is stored, and projected after the next start."""
        await self._loop.stop()
        for task in self._in_turn.values():  # what has begun is in `_running`
            task.cancel()
        await asyncio.gather(*self._in_turn.values(), return_exceptions=True)
        if running := set(self._running.values()):
            _, unfinished = await asyncio.wait(running, timeout=finish_s)
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)

    async def project_now(self, project_id: int, run: str) -> bool:
        """Projects everything that had arrived for this run at the time of the call.

        Returns False when projecting fails; the last projection is kept then.  Does nothing for an unknown run. Raises
        StoreUnavailable.  Concurrent calls for one run share one projection.
        """
        key = (project_id, run)
        underway = self._running.get(key)
        if underway is not None:  # it may have begun before the caller's spans arrived: wait for it, then check
            await asyncio.wait([underway])
        if not await self._store.has_unprojected_data(project_id, run):
            return True
        rest = self._delayed.get(key)
        if rest is not None and rest.failures and rest.until_ns > self._clock():
            return False
        return await self._shared([key], wait=True)

    async def catch_up(self, project_id: int) -> None:
        """Projects recent data of a project, so that its list of runs is up to date. If much data waits, projects only
        as much as a reader can wait for.  Raises StoreUnavailable."""
        wanted: list[UnprojectedRun] = []
        for dirty_run in await self._store.unprojected_runs(_WORTH_WAITING_FOR, project_id):
            rest = self._delayed.get(dirty_run[:2])
            if rest is None or (not rest.failures and rest.until_ns - self._clock() < _SHORT_NS):
                wanted.append(dirty_run)
        await self._project_together(wanted)

    async def run_once(self) -> float:
        """Runs one polling cycle: projects runs with news, seals quiet runs, marks lost runs. Returns the seconds until
        the next cycle is due."""
        try:
            now = self._clock()
            self._delayed = {key: rest for key, rest in self._delayed.items() if rest.failures or rest.until_ns > now}
            limit = _AT_A_TIME + len(self._delayed)  # resting runs must not crowd out the others
            dirty = await self._store.unprojected_runs(limit)
            due_s, are_left = await self._project_ready(dirty)
            for _ in range(_LOOKS):
                if not are_left:
                    break
                # Another project may have news by now, which should not wait for all that there is of this one.
                self._woken.clear()
                dirty = await self._store.unprojected_runs(_AT_A_TIME + len(self._delayed))
                due_s, are_left = await self._project_ready(dirty)
            # One ns more than quiet enough, since `project` seals runs that have been quiet for longer than that.
            quiet_since = now - self._settings.seal_after_ns - 1
            self.counts["sealed"] += await self._store.seal(quiet_since, _SEALED_AT_A_TIME)
            lost_since = now - self._settings.quiet_after_ns(is_under_way=True) - 1
            sealable = await self._store.sealable_runs(quiet_since, lost_since, limit)
            _, are_sealable = await self._project_ready(UnprojectedRun(*key, 0) for key in sealable)
            await self._mark_lost(now)
            self._waiting = len(dirty)
        except StoreUnavailable as error:
            return self._back_off(error)
        self._unavailable = 0
        at_once = are_left or are_sealable or (len(dirty) == limit and due_s == float("inf"))
        return 0.0 if at_once else min(self._poll_s, due_s)

    async def _mark_lost(self, now: int) -> None:
        if now < self._look_for_lost_ns:
            return
        own_before, foreign_before = now - self._lost_after_ns, now - self._foreign_lost_after_ns
        self.counts["lost"] += await self._store.mark_lost(own_before, foreign_before, _SEALED_AT_A_TIME)
        self._look_for_lost_ns = now + min(_LOOK_FOR_LOST_NS, self._lost_after_ns // 10)

    # --- in the background -----------------------------------------------------------------------------------------

    async def _work_on(self) -> None:
        while True:
            self._woken.clear()
            try:
                wait_s = await self.run_once()
            except Exception:  # an error must not end the projection of all later runs
                log.exception("looking for runs to project failed; trying again in %.0f s", _LAST_RETRY_S)
                wait_s = _LAST_RETRY_S
            await asyncio.sleep(self._pause_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), wait_s)

    async def _project_ready(self, runs: Iterable[UnprojectedRun]) -> tuple[float, bool]:
        """Projects runs except resting ones: all, or if there are several projects, some of each, until one of them is
        done or has news. Returns the seconds until the first resting one is due (infinity if none rests), and whether
        there is more to do."""
        due_s = float("inf")
        ready: list[UnprojectedRun] = []
        for dirty_run in runs:
            rest, now = self._delayed.get(dirty_run[:2]), self._clock()
            if rest is None or rest.until_ns <= now:
                ready.append(dirty_run)
            else:
                due_s = min(due_s, (rest.until_ns - now) / _NS)
        if not self._is_shared(ready):
            await self._project_together(ready)
            return due_s, False
        first = first_runs(ready, _RUNS_IN_TURN)
        for project_id, its_runs in first.items():
            if project_id not in self._in_turn:
                self._in_turn[project_id] = asyncio.create_task(self._project_in_turn(project_id, its_runs))
        self._arrived_in_turn = False
        await self._until_one_is_done()
        are_left = sum(map(len, first.values())) < len(ready)
        return due_s, are_left or self._arrived_in_turn or bool(self._in_turn)

    async def _project_in_turn(self, project_id: int, runs: Sequence[UnprojectedRun]) -> None:
        async with self._turns.of(project_id) as turn:
            for run in runs:
                await turn.step()
                await self._project_together([run])

    async def _until_one_is_done(self) -> None:
        """Returns when one of the projects is done, or another one has news."""
        if self._in_turn:
            woken = asyncio.create_task(self._woken.wait())
            try:
                await asyncio.wait([*self._in_turn.values(), woken], return_when=asyncio.FIRST_COMPLETED)
            finally:
                woken.cancel()
        for project_id in [number for number, task in self._in_turn.items() if task.done()]:
            self._in_turn.pop(project_id).result()

    def _is_shared(self, ready: Iterable[UnprojectedRun]) -> bool:
        """Whether several projects had news, or anything else to do, in the last while."""
        now = self._clock()
        self._had_news |= dict.fromkeys((run.project_id for run in ready), now)
        self._had_news = {number: at for number, at in self._had_news.items() if now - at < _HAD_NEWS_NS}
        return self._turns.are_shared or len(self._had_news) > 1

    async def _project_together(self, runs: Iterable[UnprojectedRun]) -> None:
        for batch in batches(runs):
            await self._shared(batch, wait=False)

    def _back_off(self, error: StoreUnavailable) -> float:
        self.counts["store_unavailable"] += 1
        self._unavailable += 1
        if self._unavailable == 1:
            log.warning("projecting waits for the store: %s", error)
        return delay_s(self._unavailable, _FIRST_RETRY_S, _LAST_RETRY_S)

    # --- some runs of a project ------------------------------------------------------------------------------------

    async def _shared(self, keys: Sequence[Key], *, wait: bool) -> bool:
        """Projects those runs that are not in progress yet, and waits for all. Returns whether the last one
        succeeded."""
        new = [key for key in keys if key not in self._running or self._running[key].done()]
        if new:
            task = asyncio.create_task(self._project_batch(new, wait=wait))
            self._running |= dict.fromkeys(new, task)
            task.add_done_callback(lambda done: self._over(new, done))
        # Shielded: a cancelled caller must not cancel the projection for the others.
        tasks = dict.fromkeys(self._running[key] for key in keys if key in self._running)
        failed = [await asyncio.shield(item) for item in tasks]
        return all(keys[-1] not in item for item in failed)

    def _over(self, keys: Iterable[Key], task: asyncio.Task[set[Key]]) -> None:
        for key in keys:
            if self._running.get(key) is task:
                del self._running[key]
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not log it when no caller waits any more

    async def _project_batch(self, keys: Sequence[Key], *, wait: bool) -> set[Key]:
        """Projects the runs. Returns those that failed."""
        try:
            return await self._until_stored(keys, wait=wait)
        except WrongEncryptionKey as error:  # so it is with all runs of the project, and with no other project
            if keys[0][0] not in self._without_key:
                self._without_key.add(keys[0][0])
                log.warning("runs of a project are not projected here, which is tried again: %s", error)
            for key in keys:
                self._defer_failing_run(key, error)
            return {*keys}
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - counted and logged below; one run must not stop the others
            if len(keys) == 1:
                self._defer_failing_run(keys[0], error)
                return {keys[0]}
            return set[Key]().union(*[await self._project_batch([key], wait=wait) for key in keys])

    async def _until_stored(self, keys: Sequence[Key], *, wait: bool) -> set[Key]:
        """Projects and stores the runs. Tries again after a collision with another transaction."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(StoreCollision):
                return await self._project_and_store(keys, wait=wait)
        return await self._project_and_store(keys, wait=wait)

    async def _project_and_store(self, keys: Sequence[Key], *, wait: bool) -> set[Key]:
        began, project_id = self._clock(), keys[0][0]
        states = {key[1]: entry for key in keys if (entry := self.growing_runs.take(key))}
        async with self._store.locked_runs(project_id, [run for _, run in keys], wait=wait, cached=states) as works:
            done = await self._computed(works)
        spent = self._clock() - began - sum(entry.took_ns for entry in done)
        items = sum(entry.items for entry in done)
        for entry in done:
            key = (project_id, entry.work.run)
            if entry.error is not None:
                self._defer_failing_run(key, entry.error)
                continue
            if entry.work.cached is not None:
                self.growing_runs.put(key, entry.work.cached)
            self._without_key.discard(project_id)
            self.counts["projected"] += 1
            self.counts["started_over"] += not entry.work.result.appended if entry.work.result else 0
            self.counts["sealed"] += entry.seals
            took = max(entry.took_ns + spent * entry.items // max(items, 1), 0)
            # Work of others makes it take longer, and turns share the time already.
            rest_factor = 1 if self._turns.are_shared else _REST_FACTOR
            self._delayed[key] = _RetryState(self._clock() + rest_factor * took)
        return {(project_id, entry.work.run) for entry in done if entry.error is not None}

    async def _computed(self, works: Sequence[RunWork]) -> list[_Computed]:
        done = [_Computed(work) for work in works]
        await self._compute(done)
        again = [computed for computed in done if computed.work.cached is not None and computed.work.result is None]
        for computed in again:
            await computed.work.start_over()
            computed.error = None  # the kept state may have caused the error
        await self._compute(again)
        # The text of a few messages improves the classification of cuts; after that, other messages may be needed.
        while unread := [
            (computed, result.unread) for computed in done if (result := computed.work.result) and result.unread
        ]:
            for computed, refs in unread:
                computed.work.looked_up.update(refs)
                try:
                    await computed.work.read(refs)
                except (ObjectStoreUnavailable, ContentCorrupt) as error:  # it waits alone
                    computed.error, computed.work.result = error, None
            await self._compute([computed for computed, _ in unread if computed.error is None])
        return done

    async def _compute(self, batch: Sequence[_Computed]) -> None:
        if sum(computed.items for computed in batch) > _IN_THREAD:
            await asyncio.to_thread(self._compute_each, batch)
        else:
            self._compute_each(batch)

    def _compute_each(self, batch: Iterable[_Computed]) -> None:
        for computed in batch:
            began = self._clock()
            try:
                computed.work.result = self._priced(self._project(computed.work, began))
            except Exception as error:  # noqa: BLE001 - counted and logged by the caller
                computed.error, computed.work.result = error, None
            computed.took_ns += self._clock() - began

    def _project(self, work: RunWork, now_ns: int) -> Projection | None:
        """Projects a run. Returns None if its kept state cannot be continued."""
        if work.cached is not None:
            return work.cached.progress.continue_with(work, self._settings.snapshot_every)
        return self._projector(work, now_ns, self._settings)

    def _priced(self, result: Projection | None) -> Projection | None:
        """Sets the cost of a projected run."""
        if result is not None and self._pricing is not None:
            facts = OutcomeFacts(cost=self._pricing.cost_of(result.row.usage), price_table=self._price_table)
            result.row = replace(result.row, facts=facts)
        return result

    def _defer_failing_run(self, key: Key, error: Exception) -> None:
        """Makes the background skip a run that cannot be projected, for a longer time after each failure."""
        self.counts["failed"] += 1
        failures = self._delayed[key].failures + 1 if key in self._delayed else 1
        penalty = delay_s(failures, _FIRST_PENALTY_S, _LAST_PENALTY_S)
        self._delayed[key] = _RetryState(self._clock() + int(penalty * _NS), failures)
        if isinstance(error, WrongEncryptionKey):  # the caller says it once for all runs
            return
        if isinstance(error, ObjectStoreUnavailable | KeyDestroyed):
            log.warning("run %s cannot be projected now, trying again in %.0f s: %s", key[1], penalty, error)
        elif failures == 1:
            text = "run %s cannot be projected, please report this; trying again in %.0f s"
            log.error(text, key[1], penalty, exc_info=error)


def first_runs(runs: Iterable[UnprojectedRun], at_most: int) -> dict[int, list[UnprojectedRun]]:
    """Returns the first runs of each project, so many at most, in the given order.  Pure."""
    first: dict[int, list[UnprojectedRun]] = {}
    for dirty_run in runs:
        of_project = first.setdefault(dirty_run.project_id, [])
        if len(of_project) < at_most:
            of_project.append(dirty_run)
    return first


def batches(runs: Iterable[UnprojectedRun]) -> Iterator[list[Key]]:
    """Splits runs into batches for one transaction each: runs of one project, limited in number and in size. Projects
    take turns.  Pure."""
    by_project: dict[int, list[UnprojectedRun]] = {}
    for dirty_run in runs:
        by_project.setdefault(dirty_run.project_id, []).append(dirty_run)
    for turn in zip_longest(*map(_batches_of_project, by_project.values())):
        yield from filter(None, turn)


def _batches_of_project(runs: Iterable[UnprojectedRun]) -> Iterator[list[Key]]:
    batch, size = list[Key](), 0
    for dirty_run in runs:
        if batch and (len(batch) == _RUNS_TOGETHER or size + dirty_run.bytes > _BYTES_TOGETHER):
            yield batch
            batch, size = [], 0
        batch.append(dirty_run[:2])
        size += dirty_run.bytes
    yield batch
