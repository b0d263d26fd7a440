"""store → [retain] → serve: moves runs from tier to tier as the policies of projects say, once a day and on request.

A pass goes through the runs of a project in the order of their ids, some hundreds at a time, and moves those that are
due in small transactions, with rests between them. What was moved is not due any more: so a pass that was cut off
needs no position, and two collectors that make one at the same time do the same work once.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import orjson

from playhead_collector.background import BackgroundLoop
from playhead_collector.errors import EncryptionMissing, KeyDestroyed, StoreUnavailable, WrongEncryptionKey
from playhead_collector.retain.policy import (
    DAY_NS,
    BadPolicy,
    RetentionPolicy,
    TierDecision,
    decide,
    next_step,
    parse_policy,
)
from playhead_collector.store.ports.objects import BodyMoves
from playhead_collector.store.ports.tiers import Move, RemovalRow, RunAge, StoredPin, Tier, TierStore

log = logging.getLogger(__name__)

# Looking at so many runs takes some tens of milliseconds; packing so many, about as long.
_LOOKED_AT, _MOVED = 500, 16
# Packs and records that go into the object store together: some 16 and 4 MiB.
_PACKS, _RECORDS = 512, 2_000
_DAY_SECONDS, _AGAIN_SECONDS = 86_400.0, 60.0
_FIRST_SECONDS = 600.0
# The background worker rests so many times as long as it worked.
_REST = 4
# A request works so long.
_BY_HAND_SECONDS, _LOOKING_SECONDS = 2.0, 2.0
UPCOMING_DAYS = (1, 7, 30)


@dataclass(slots=True)
class DueRuns:
    """What would be done now: `due` are the first runs that would move or are kept; the counts are of all."""

    due: list[tuple[RunAge, TierDecision]] = field(default_factory=list[tuple[RunAge, TierDecision]])
    runs: int = 0
    kept: int = 0
    bytes: int = 0
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    looked_at: int = 0
    all_looked_at: bool = True


class RunStanding(NamedTuple):
    """What a policy says about a run: what happens next as (tier, ns since 1970, rule), and its pin."""

    step: tuple[Tier, int, str] | None
    pin: StoredPin | None


@dataclass(slots=True)
class UpcomingMoves:
    """How many runs go into which tier within so many days."""

    upcoming: Counter[tuple[int, Tier]] = field(default_factory=Counter[tuple[int, Tier]])
    looked_at: int = 0
    all_looked_at: bool = True


@dataclass(slots=True)
class MovedRuns:
    """What was moved, by tier. `complete`: nothing is left that is due."""

    runs: Counter[Tier] = field(default_factory=Counter[Tier])
    bytes: int = 0
    complete: bool = True


class Retainer:
    """Applies the policies in the background and on request, and says what they would do."""

    def __init__(
        self,
        store: TierStore,
        *,
        wall_ns: Callable[[], int],
        objects: BodyMoves | None = None,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        first_s: float = _FIRST_SECONDS,
    ) -> None:
        """`wall_ns`: ns since 1970. `objects`: moves packs into the object store; None: there is none. `clock` gives
        seconds. `first_s`: seconds from the start to the first pass."""
        self.counts: Counter[str] = Counter()  # thinned, deleted, passes
        self.has_objects = objects is not None
        self._objects = objects
        self._store = store
        self._wall_ns = wall_ns
        self._clock = clock
        self._sleep = sleep
        self._first_s = first_s
        self._loop = BackgroundLoop(self._work_on, "playhead retainer")

    def start(self) -> None:
        """Starts the background loop."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. A move in progress is rolled back, and done by the next pass."""
        await self._loop.stop()

    async def policy_of(self, project_id: int) -> RetentionPolicy | None:
        """Returns the policy of a project; None: runs are kept for ever. Raises StoreUnavailable."""
        stored = await self._store.policy(project_id)
        return None if stored is None else parse_policy(orjson.loads(stored))

    async def run_once(self) -> None:
        """Makes a pass over all projects that have a policy. Raises StoreUnavailable."""
        for project_id, stored in (await self._store.policies()).items():
            policy: str | None = stored
            try:
                while policy is not None and not await self._apply(project_id, policy, MovedRuns(), None):
                    policy = await self._store.policy(project_id)  # it was changed meanwhile
                await self._move_out(project_id, None)
            except BadPolicy as error:  # written by a newer version
                log.error("the retention policy of project %d is not applied: %s", project_id, error)  # noqa: TRY400
            except (KeyDestroyed, EncryptionMissing, WrongEncryptionKey) as error:  # nothing of it can be read here
                log.warning("the retention policy of project %d is not applied: %s", project_id, error)
            except StoreUnavailable:
                raise
            except Exception:  # the other projects have theirs applied
                log.exception("applying the retention policy of project %d failed; please report this", project_id)
        self.counts["passes"] += 1

    async def retain_now(self, project_id: int) -> MovedRuns:
        """Does what is due in a project, for some seconds at most. Raises StoreUnavailable."""
        done, stored = MovedRuns(), await self._store.policy(project_id)
        if stored is not None:
            until = self._clock() + _BY_HAND_SECONDS
            done.complete = await self._apply(project_id, stored, done, until) and await self._move_out(
                project_id, until
            )
        return done

    async def standing(self, project_id: int, run: str) -> RunStanding:
        """Returns what happens to a run next, if nothing keeps it. Raises StoreUnavailable."""
        pin, policy = await self._store.pin_of(project_id, run), await self.policy_of(project_id)
        age = None if policy is None else await self._store.run_age(project_id, run)
        step = None if policy is None or age is None else next_step(policy, age, self.has_objects)
        return RunStanding(None if step is None else (step.tier, step.at_ns, step.rule.name), pin)

    async def plan(self, project_id: int, limit: int) -> DueRuns:
        """Returns what would be done now. Raises StoreUnavailable."""
        plan, policy = DueRuns(), await self.policy_of(project_id)
        if policy is None or policy.first_limit_ns is None:
            return plan
        now, until = self._wall_ns(), self._clock() + _LOOKING_SECONDS
        async for part in self._aged(project_id, policy.first_limit_ns):
            found = [(run, decide(policy, run, now, self.has_objects)) for run in part]
            due = [(run, decision) for run, decision in found if decision.target is not None]
            moved = [run.run for run, decision in due if decision.moves_to is not None]
            sizes = await self._store.sizes(project_id, moved)
            plan.runs += len(moved)
            plan.kept += len(due) - len(moved)
            plan.bytes += sum(sizes.values())
            room = due[: max(0, limit - len(plan.due))]
            plan.due += room
            plan.sizes |= {run.run: sizes.get(run.run, 0) for run, _ in room}
            plan.looked_at += len(part)
            if self._clock() >= until:
                plan.all_looked_at = len(part) < _LOOKED_AT
                break
        return plan

    async def outlook(self, project_id: int) -> UpcomingMoves:
        """Returns what goes when, by the policy as it is now. Raises StoreUnavailable."""
        outlook, policy = UpcomingMoves(), await self.policy_of(project_id)
        if policy is None or policy.first_limit_ns is None:
            return outlook
        now, until = self._wall_ns(), self._clock() + _LOOKING_SECONDS
        horizon = policy.first_limit_ns - UPCOMING_DAYS[-1] * DAY_NS
        async for part in self._aged(project_id, horizon):
            for run in part:
                step = None if run.pinned else next_step(policy, run, self.has_objects)
                for days in UPCOMING_DAYS if step is not None else ():
                    if step is not None and step.at_ns <= now + days * DAY_NS:
                        outlook.upcoming[days, step.tier] += 1
            outlook.looked_at += len(part)
            if self._clock() >= until:
                outlook.all_looked_at = len(part) < _LOOKED_AT
                break
        return outlook

    async def _aged(self, project_id: int, age_ns: int) -> AsyncIterator[Sequence[RunAge]]:
        """Yields the runs that ended so long ago, in portions."""
        after, before = None, self._wall_ns() - age_ns + 1
        while part := await self._store.runs_after(project_id, after, ended_before_ns=before, limit=_LOOKED_AT):
            yield part
            if len(part) < _LOOKED_AT:
                return
            after = part[-1].run

    async def _apply(self, project_id: int, stored: str, done: MovedRuns, until: float | None) -> bool:
        """Moves what is due by a stored policy, until then (None: all of it, with rests). Returns whether it came to
        the end: not if the policy was changed meanwhile. Raises BadPolicy.

        A fork goes before the run that it was forked from: passes are repeated as long as one made room for another.
        """
        policy = parse_policy(orjson.loads(stored))
        if policy.first_limit_ns is None:
            return True
        moved = -1
        while moved:
            moved = 0
            async for part in self._aged(project_id, policy.first_limit_ns):
                for tier, runs in self._due_by_tier(policy, part).items():
                    for start in range(0, len(runs), _MOVED):
                        if until is not None and self._clock() >= until:
                            return False
                        if await self._store.policy(project_id) != stored:
                            return False
                        moved += await self._move(project_id, policy, runs[start : start + _MOVED], tier, done, until)
        return True

    def _due_by_tier(self, policy: RetentionPolicy, part: Sequence[RunAge]) -> Mapping[Tier, list[str]]:
        now, found = self._wall_ns(), dict[Tier, list[str]]()
        for run in part:
            tier = decide(policy, run, now, self.has_objects).moves_to
            if tier is not None:
                found.setdefault(tier, []).append(run.run)
        return found

    async def _move(
        self,
        project_id: int,
        policy: RetentionPolicy,
        runs: Sequence[str],
        tier: Tier,
        done: MovedRuns,
        until: float | None,
    ) -> int:
        now, began = self._wall_ns(), self._clock()

        def choose(run: RunAge) -> Move | None:
            decision = decide(policy, run, now, self.has_objects)
            if decision.moves_to is None:
                return None
            return Move(decision.moves_to, decision.rule.name, decision.rule.kept_contents)

        removals: Sequence[RemovalRow] = await self._store.move(project_id, runs, tier, choose)
        moved = sum(len(removal.runs) for removal in removals)
        done.runs[tier] += moved
        done.bytes += sum(removal.bytes for removal in removals)
        self.counts["deleted" if tier is Tier.DELETED else "thinned"] += moved
        if until is None:
            await self._sleep(_REST * (self._clock() - began))
        return moved

    async def _move_out(self, project_id: int, until: float | None) -> bool:
        """Moves packs that no hot run has, and records of thinned runs, into the object store, if there is one. Returns
        whether it came to the end. Raises ObjectStoreUnavailable: what was moved until then stays moved."""
        if self._objects is None:
            return True
        after = 0
        while packs := await self._store.packs_to_warm(project_id, after, _PACKS):
            if until is not None and self._clock() >= until:
                return False
            await self._objects.move_packs(project_id, packs, if_smaller=True)
            after = packs[-1]
        last: str | None = None
        while True:
            if until is not None and self._clock() >= until:
                return False
            last = await self._store.move_records(project_id, last, _RECORDS)
            if last is None:
                return True

    async def _work_on(self) -> None:
        await self._sleep(self._first_s)
        while True:
            wait_s = _DAY_SECONDS
            try:
                await self.run_once()
            except StoreUnavailable as error:  # also of the object store
                log.warning("applying retention policies has to wait: %s", error)
                wait_s = _AGAIN_SECONDS
            except Exception:  # an error must not end all later passes
                log.exception("applying retention policies failed; trying again in %.0f s", _DAY_SECONDS)
            await self._sleep(wait_s)
