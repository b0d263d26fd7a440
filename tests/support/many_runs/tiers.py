"""Made-up runs through all tiers: what they take in each, and whether answers are equal.

Runs are stored by the store's own ingest, projection and packing, with a clock of their own. Without the search index,
which would take as much again while runs are hot, and which no thinned run has.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import orjson

from playhead.model.ref import ContentRef
from playhead_collector.projection import ProjectionRunner
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.retain.packer import Packer
from playhead_collector.retain.retainer import Retainer
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.ports.tiers import Tier
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.support.database_sessions import wait_for_end_of_snapshots
from tests.support.many_runs.varied import VariedRun

POLICY = {
    "default": {"hot": "7d", "warm": "30d", "cold": "1y", "archive": "7y", "contents": False, "last_context": False},
}
_PROJECT = 1
_DAY_NS = 86_400 * 10**9
_STORED_AT_A_TIME, SAMPLED = 200, 100
_PROJECTED = 64
# Contents of a made-up run that none of its spans names: the last result, and a message of it.
_UNNAMED = 2
# Days after the runs ended at which each tier is looked at, some days after it begins: by then, what went is swept.
_LOOKS = {Tier.HOT: 1, Tier.WARM: 8, Tier.COLD: 31, Tier.ARCHIVE: 366, Tier.DELETED: 8 * 365}
_SWEPT_AFTER_DAYS = 3
# Of a cold run nothing of these is different; of one in the archive, what has no texts.
_SUMMARY = ("run", "name", "status", "started_ns", "ended_ns", "events", "llm_calls", "tool_calls", "usage", "agents")


@dataclass(slots=True)
class TierFigures:
    """What runs take in a tier. `seconds`: how long it took to bring all of them into it, with the sweep."""

    tier: Tier
    runs: int
    seconds: float
    tables: dict[str, int]
    objects: int
    object_bytes: int
    different: list[str]

    @property
    def postgres(self) -> int:
        """Bytes of all tables and indexes after a vacuum."""
        return sum(self.tables.values())


@dataclass(slots=True)
class _Clock:
    now_ns: int

    def __call__(self) -> int:
        return self.now_ns


@dataclass(slots=True)
class _Sample:
    """What some runs answered when they were hot."""

    answers: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    contents: dict[str, set[ContentRef]] = field(default_factory=dict[str, set[ContentRef]])


async def through_all_tiers(database: str, folder: Path, runs: int) -> AsyncIterator[TierFigures]:
    """Stores runs, brings them from tier to tier, and yields what each tier takes."""
    objects = open_object_store(f"file://{folder}", 60)
    clock = _Clock(VariedRun(1).spans[0].start_ns + 3_600 * 10**9)
    store = await connect(database, pool_size=4, clock=clock, objects=objects)
    conn = await asyncpg.connect(database)
    try:
        began = time.monotonic()
        sample = await _store_all(store, clock, runs)
        await store.tiers.set_policy(_PROJECT, orjson.dumps(POLICY).decode())
        start_ns = clock.now_ns
        for tier, days in _LOOKS.items():
            clock.now_ns = start_ns + days * _DAY_NS
            await _retain(store, clock)
            clock.now_ns += _SWEPT_AFTER_DAYS * _DAY_NS
            await _sweep(store, clock)
            seconds = time.monotonic() - began
            different = [sentence async for sentence in _differences(store, sample, tier)]
            sizes = await store.objects.sizes()
            yield TierFigures(tier, runs, seconds, await _tables(conn), sizes.objects, sizes.bytes, different)
            began = time.monotonic()
    finally:
        await conn.close()
        await store.close()


# --- storing ---------------------------------------------------------------------------------------------------------


async def _store_all(store: PostgresStore, clock: _Clock, runs: int) -> _Sample:
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=1)
    packer = Packer(store.projections, clock=clock, rest=lambda: 0)
    sample, every = _Sample(), max(1, runs // SAMPLED)
    for first in range(0, runs, _STORED_AT_A_TIME):
        numbers = range(first, min(runs, first + _STORED_AT_A_TIME))
        made = await asyncio.to_thread(lambda numbers=numbers: [VariedRun(2 + n % 5, number=n) for n in numbers])
        contents = {ref: content for run in made for ref, content in run.contents.items()}
        await store.contents.put(_PROJECT, contents.values(), [thread for run in made for thread in run.threads])
        await store.spans.ingest(_PROJECT, Batch([span for run in made for span in run.spans]))
        await _settle(store, runner, packer, clock)
        for run in made:
            if run.number % every == 0:
                sample.answers[run.run] = await _answers(store, run.run)
                sample.contents[run.run] = set(run.contents)
    return sample


async def _settle(store: PostgresStore, runner: ProjectionRunner, packer: Packer, clock: _Clock) -> None:
    """Projects, seals and packs all that there is."""
    while await store.projections.unprojected_runs(1):
        await runner.run_once()
    clock.now_ns += 10 * 10**9
    while await store.projections.seal(clock.now_ns - 2 * 10**9, _PROJECTED):
        pass
    while await store.projections.sealable_runs(clock.now_ns - 2 * 10**9, 0, 1):
        await runner.run_once()
        clock.now_ns += 10**9
    while await store.projections.runs_to_pack(1):
        await packer.run_once()
        clock.now_ns += 10**9


# --- the tiers -------------------------------------------------------------------------------------------------------


async def _retain(store: PostgresStore, clock: _Clock) -> None:
    async def no_rest(_: float) -> None: ...

    retainer = Retainer(store.tiers, wall_ns=clock, objects=store.moves, sleep=no_rest)
    await retainer.run_once()
    times = iter(range(0, 10**12, 10_000))
    mover = ObjectMover(
        store.moves, store.objects, least_bytes=10**9, grace_s=0, wait_s=0, clock=lambda: float(next(times))
    )
    while await mover.run_once() < 1:  # bodies that the object store has are deleted from rows
        pass


async def _sweep(store: PostgresStore, clock: _Clock) -> None:
    async def no_rest(_: float) -> None: ...

    sweeper = Sweeper(store.garbage, grace_s=86_400, tombstone_s=1e9, sleep=no_rest)
    await sweeper.run_once()
    await _retain(store, clock)  # objects that no row names any more


async def _tables(conn: "asyncpg.Connection[asyncpg.Record]") -> dict[str, int]:
    names = await conn.fetch(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
    )
    await wait_for_end_of_snapshots(conn)
    for (name,) in names:
        await conn.execute(f"vacuum (full, analyze) {name}")
    rows = await conn.fetch(
        "select relname, pg_total_relation_size(oid) as bytes from pg_class "
        "where relnamespace = 'public'::regnamespace and relkind = 'r'"
    )
    return {row["relname"]: row["bytes"] for row in rows}


# --- answers ---------------------------------------------------------------------------------------------------------


async def _answers(store: PostgresStore, run: str) -> dict[str, Any]:
    row = await store.runs.get(_PROJECT, run)
    return {
        "summary": None if row is None else {name: getattr(row, name) for name in _SUMMARY},
        "events": list(await store.events.read(_PROJECT, run)),
        "spans": list(await store.spans.read(_PROJECT, run)),
    }


async def _differences(store: PostgresStore, sample: _Sample, tier: Tier) -> AsyncIterator[str]:
    """Yields what is not as it must be in this tier."""
    for run, before in sample.answers.items():
        after, row = await _answers(store, run), await store.runs.get(_PROJECT, run)
        stored = len(await store.contents.get_many(_PROJECT, list(sample.contents[run])))
        wrong = _left_over(after, stored) if tier is Tier.DELETED else _lost(tier, before, after)
        if tier is not Tier.DELETED and (row is None or row.tier != tier):
            wrong = "is not there"
        if wrong is None and tier >= Tier.COLD and stored:
            wrong = f"has {stored} contents"
        if wrong is None and tier < Tier.COLD and stored < len(sample.contents[run]) - _UNNAMED:
            wrong = f"has {stored} of {len(sample.contents[run])} contents"
        if wrong is not None:
            yield f"run {run} in {tier.name.lower()} {wrong}"


def _left_over(after: dict[str, Any], stored: int) -> str | None:
    return "is there" if after["summary"] or after["events"] or after["spans"] or stored else None


def _lost(tier: Tier, before: dict[str, Any], after: dict[str, Any]) -> str | None:
    if after["summary"] != before["summary"]:
        return "has another summary"
    if tier is not Tier.ARCHIVE:
        return None if after == before else "has other events or spans"
    if list(map(_shape, after["events"])) != list(map(_shape, before["events"])):
        return "has other kinds, times or usage"
    return "has spans" if after["spans"] else None


def _shape(event: Any) -> tuple[object, ...]:
    return event.kind, event.seq, event.id, event.time_ns, event.actor, getattr(event, "usage", None)
