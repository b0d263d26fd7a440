"""One race: two collectors on a database, with senders, forks, a person who deletes, one who forgets, and sweeps.

Senders act as the SDK does: they believe for an hour that what they were told is stored, unless the epoch has changed
in an answer about contents. Time is a clock that all share and that jumps, while nothing is being sent.
At the end, every run that was not deleted has all that it names, and what only forgotten users had is gone.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

from playhead.model import names
from playhead.model.canonical import Content, canonical_json, content_of
from playhead.model.message import Message, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.thread import Thread, thread_of
from playhead.projection.projector import ProjectSettings, project
from playhead.wire.pack import ThreadExtension
from playhead_collector.errors import ContentForgotten, StoreUnavailable
from playhead_collector.store.ports.forgetting import Selector
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.erasing import BELIEVED_NS
from playhead_collector.store.postgres.store import PostgresStore

P = 1
NS = 1_000_000_000
DAY_NS = 86_400 * NS
HOUR_NS = 3_600 * NS
START_NS = 1_760_000_000 * NS
USERS = ("u1", "u2", "u3")
# As long as no more are there, none is removed: at the end some must be left that may have lost something.
_SPARED = 6


@dataclass
class RaceClock:
    """A clock that jumps when it is told to."""

    now_ns: int = START_NS

    def __call__(self) -> int:
        return self.now_ns


@dataclass
class Recorded:
    """What a run named, by whom it is, and its parent."""

    run: str
    user: str
    contents: tuple[Content, ...]
    thread: Thread | None
    parent: str | None = None


@dataclass(frozen=True)
class Said:
    """What a run of `user` names: the first three contents in its spans, the rest by its thread."""

    user: str
    contents: tuple[Content, ...]
    made: Thread


@dataclass
class Belief:
    """What a sender believes to be stored, as `playhead.export.delivery` does; and what its runs have said."""

    epoch: str | None = None
    known: dict[bytes, int] = field(default_factory=dict[bytes, int])
    said: list[Said] = field(default_factory=list[Said])

    def told(self, epoch: str) -> bool:
        """Takes the epoch of an answer. Returns whether it has changed, so that nothing is known any more."""
        changed = self.epoch not in (None, epoch)
        if changed:
            self.known.clear()
        self.epoch = epoch
        return changed

    def knows(self, ref: ContentRef, now_ns: int) -> bool:
        return now_ns - self.known.get(ref.digest, -HOUR_NS) < HOUR_NS


@dataclass
class Race:
    """`seed` decides what is done; the order in which transactions meet is the database's."""

    stores: Sequence[PostgresStore]
    clock: RaceClock
    seed: int
    sends: int = 10
    alive: dict[str, Recorded] = field(default_factory=dict[str, Recorded])
    counts: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._numbers = iter(range(1, 10_000))
        self._gate = asyncio.Event()
        self._gate.set()
        self._sending = self._swept = 0
        self._over = asyncio.Event()
        self._gone: set[str] = set()

    async def run(self) -> list[str]:
        """Runs the race. Returns what is lost or left, one sentence each."""
        helpers = [asyncio.create_task(each()) for each in (self._sweeping, self._removing, self._packing)]
        try:
            await asyncio.gather(*(self._send_all(store) for store in self.stores))
        finally:
            self._over.set()
            await asyncio.gather(*helpers)
        await self._forget_at_last("u1")
        self.counts["alive"] += len(self.alive)
        return [*await self._lost(), *await self._left()]

    # --- senders -----------------------------------------------------------------------------------------------------

    async def _send_all(self, store: PostgresStore) -> None:
        belief = Belief()
        for _ in range(self.sends):
            await self._gate.wait()
            self._sending += 1
            await self._again(lambda: self._send(store, belief))
            self._sending -= 1
            if self.random.random() < 0.3:
                await self._time_passes(self.random.choice((0.4, 1.1, 30.0)))
            elif self.random.random() < 0.3:
                await self._sweep_passes()

    async def _sweep_passes(self) -> None:
        """Waits until a sweep has begun and ended: what this sender believes to be stored may be gone, if it may."""
        ended = self._swept + 2
        while self._swept < ended:
            await asyncio.sleep(0.002)

    async def _time_passes(self, hours: float) -> None:
        self._gate.clear()
        while self._sending:  # what is being sent is not delayed for hours
            await asyncio.sleep(0)
        self.clock.now_ns += int(hours * HOUR_NS)
        self._gate.set()

    async def _send(self, store: PostgresStore, belief: Belief) -> None:
        said = self._says(belief)
        run = f"{next(self._numbers):032x}"
        parent = self._parent_of(said.user)
        await self._deliver(store, belief, said.contents, said.made)
        await asyncio.sleep(0)
        inner, outer, own = said.contents[:3]
        root = _span(1, run, outer.ref, said.user, parent)
        spans = [root, _span(2, run, own.ref, said.user), _thread_span(3, run, said.made)]
        await store.spans.ingest(P, Batch(spans=spans))
        self.alive[run] = Recorded(run, said.user, (inner, outer, own), said.made, parent)
        with suppress(StoreUnavailable):
            await _project(store, run)
        self.counts["sent"] += 1

    def _says(self, belief: Belief) -> Said:
        """Often what this sender has said before: it believes that all of it is stored, and asks for nothing."""
        if belief.said and self.random.random() < 0.5:
            return self.random.choice(belief.said)
        user = self.random.choice(USERS)
        inner = content_of(f"text {self.random.randrange(4)} " * 3)
        outer = Content(canonical_json({"inner": inner.ref}), "application/json")
        own = content_of(f"only {user} had this, {self.random.randrange(4)}")
        messages = [f"message {n}" for n in self.random.sample(range(3), self.random.randint(1, 2))]
        if self.random.random() < 0.5:
            messages = [f"{user} says {messages[0]}", *messages]
        texts = [message_contents(_message(text))[0] for text in messages]
        belief.said.append(Said(user, (inner, outer, own, *texts), thread_of([_message(text) for text in messages])))
        return belief.said[-1]

    def _parent_of(self, user: str) -> str | None:
        same = [each.run for each in self.alive.values() if each.user == user and each.run not in self._gone]
        return self.random.choice(same) if same and self.random.random() < 0.2 else None

    async def _deliver(self, store: PostgresStore, belief: Belief, contents: Sequence[Content], made: Thread) -> None:
        """As `playhead.export.delivery`: again from the beginning when the epoch has changed."""
        for _ in range(3):
            before = belief.epoch
            now_ns = self.clock()
            unknown = [each for each in contents if not belief.knows(each.ref, now_ns)]
            threads = [_whole(made)] if made.ref is not None and not belief.knows(made.ref, now_ns) else []
            if not unknown and not threads:  # no request about contents, so that a new epoch is not learned
                self.counts["believed"] += 1
                return
            belief.told(await store.contents.epoch(P))
            wanted = set(await store.contents.missing(P, [each.ref for each in unknown]))
            await asyncio.sleep(0)
            epoch = await store.contents.epoch(P)
            await store.contents.put(P, [each for each in unknown if each.ref in wanted], threads)
            belief.told(epoch)
            belief.known.update({each.ref.digest: now_ns for each in unknown})
            belief.known.update({thread.ref.digest: now_ns for thread in threads if thread.ref is not None})
            if before in (None, belief.epoch):
                return

    # --- those who remove --------------------------------------------------------------------------------------------

    async def _removing(self) -> None:
        while not self._over.is_set():
            await asyncio.sleep(0.02)
            if len(self.alive) <= _SPARED or self.random.random() < 0.6:
                continue
            await self._again(self._delete if self.random.random() < 0.6 else self._forget)

    async def _delete(self) -> None:
        run = self.random.choice(list(self.alive))
        self._gone.add(run)  # nobody forks it from now on
        deleted = await self.random.choice(self.stores).garbage.delete_run(P, run, forks=True)
        self._drop(deleted.runs)
        self.counts["deleted"] += len(deleted.runs)

    async def _forget(self) -> None:
        run = self.random.choice(list(self.alive))
        self._gone.add(run)
        store, job = self.random.choice(self.stores), uuid4()
        selector = Selector("run", run)
        await store.forgetting.begin(P, job, selector, forks=True, requested_by=None, hold_ns=BELIEVED_NS)
        while (await store.forgetting.jobs(P, job, 1))[0].phase not in ("contents", "done"):
            if not await store.forgetting.step(P, job):
                await self._project_all(store)  # it waits for the projection of what has arrived
        [row] = await store.forgetting.jobs(P, job, 1)
        self._drop(row.report.get("runs", ()))
        self.counts["forgotten"] += row.runs

    @staticmethod
    async def _project_all(store: PostgresStore) -> None:
        for unprojected in await store.projections.unprojected_runs(1_000):
            with suppress(StoreUnavailable):
                await _project(store, unprojected.run)

    def _drop(self, runs: Sequence[str]) -> None:
        for run in runs:
            self._gone.add(run)
            self.alive.pop(run, None)

    async def _sweeping(self) -> None:
        while not self._over.is_set():
            store = self.random.choice(self.stores)
            with suppress(StoreUnavailable):
                if (await store.garbage.sweep_step(P, DAY_NS)).phase is None:
                    self._swept += 1
                    self.counts["sweeps"] += 1
                    await asyncio.sleep(0.04)  # meanwhile runs are packed
            for project_id, job in await store.forgetting.open_jobs():
                with suppress(StoreUnavailable):
                    await store.forgetting.step(project_id, job)

    async def _packing(self) -> None:
        while not self._over.is_set():
            await asyncio.sleep(0.004)
            runs = [run for run in self.alive if run not in self._gone]
            if runs:
                with suppress(StoreUnavailable):  # a sweep is under way
                    await self.random.choice(self.stores).projections.pack(
                        [UnpackedRun(P, self.random.choice(runs), 1)]
                    )
                    self.counts["packed"] += 1

    @staticmethod
    async def _again(work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
                return
            except StoreUnavailable:  # another transaction was in the way: as a client does, again
                await asyncio.sleep(0.001)

    # --- what is checked ---------------------------------------------------------------------------------------------

    async def _forget_at_last(self, user: str) -> None:
        """Forgets a user when nobody writes any more; then all sweeps that are due."""
        self.clock.now_ns += 3 * DAY_NS
        store, job = self.stores[0], uuid4()
        await self._project_all(store)
        await store.forgetting.begin(P, job, Selector("user", user), forks=True, requested_by=None, hold_ns=BELIEVED_NS)
        while await store.forgetting.step(P, job):
            pass
        self._drop((await store.forgetting.jobs(P, job, 1))[0].report.get("runs", ()))
        self.clock.now_ns += 3 * DAY_NS
        for _ in range(2):
            while (await store.garbage.sweep_step(P, DAY_NS)).phase is not None:
                pass
        for project_id, open_job in await store.forgetting.open_jobs():
            await store.forgetting.step(project_id, open_job)

    async def _lost(self) -> list[str]:
        lost: list[str] = []
        for each in self.alive.values():
            refs = [content.ref for content in each.contents]
            here = await self.stores[1].contents.get_many(P, refs)
            lost += [f"seed {self.seed}: run {each.run} has lost {ref}" for ref in refs if ref not in here]
            if each.thread is not None and each.thread.ref is not None:
                try:
                    nodes = await self.stores[1].contents.thread(P, each.thread.ref)
                except ContentForgotten:
                    lost.append(f"seed {self.seed}: the thread of run {each.run} was forgotten")
                    continue
                messages = [node.message for node in nodes]
                stored = await self.stores[1].contents.get_many(P, messages)
                if len(nodes) != len(each.thread.nodes) or len(stored) != len({*messages}):
                    lost.append(f"seed {self.seed}: run {each.run} has lost a part of its thread")
        return lost

    async def _left(self) -> list[str]:
        """What only u1 had, after u1 was forgotten."""
        own = [content_of(f"only u1 had this, {n}").ref for n in range(4)]
        own += [message_contents(_message(f"u1 says message {n}"))[0].ref for n in range(6)]
        left = await self.stores[1].contents.get_many(P, own)
        open_jobs = await self.stores[1].forgetting.open_jobs()
        return [f"seed {self.seed}: {ref} is left" for ref in left] + [
            f"seed {self.seed}: {job} is open" for job in open_jobs
        ]


def _message(text: str) -> Message:
    return text_message("user", text)


def _whole(made: Thread) -> ThreadExtension:
    return ThreadExtension(None, tuple(node.message for node in made.nodes))


def _span(number: int, run: str, ref: ContentRef, user: str, parent: str | None = None) -> Span:
    attributes: dict[str, object] = {names.RUN_ID: run, names.INPUT_REF: ref, names.USER: user}
    if number == 1:
        attributes |= {names.RUN_ROOT: True, names.KIND: "agent"}
    if parent is not None:
        attributes |= {names.FORK_OF: parent, names.FORK_AT: 1}
    at = START_NS + number * 1_000
    parent_id = None if number == 1 else f"{1:016x}"
    return Span(run, f"{number:016x}", parent_id, f"span {number}", at, at + 500, attributes, scope=names.SCOPE)


def _thread_span(number: int, run: str, made: Thread) -> Span:
    assert made.ref is not None
    at = START_NS + number * 1_000
    attributes = {names.RUN_ID: run, names.INPUT_MESSAGES_REF: made.ref, names.KIND: "llm", names.OPERATION: "chat"}
    return Span(run, f"{number:016x}", f"{1:016x}", "chat", at, at + 500, attributes, scope=names.SCOPE)


async def _project(store: PostgresStore, run: str) -> None:
    async with store.projections.locked_run(P, run) as work:
        if work is not None:
            work.result = project(work, START_NS, ProjectSettings())
