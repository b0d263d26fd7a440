"""serve → [store]: the part of the store that knows which runs had a content."""

import asyncio
import datetime
from collections.abc import Collection, Iterable, Sequence

from asyncpg import Record

from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.project.context.content_uses import call_threads, count_uses
from playhead_collector.store.packing.content_packs import key_of
from playhead_collector.store.ports import ToPack
from playhead_collector.store.ports.uses import ContentUse, UseTotals
from playhead_collector.store.postgres import events, threads
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.gc.gate import begin_write
from playhead_collector.store.postgres.ingest import StoreMemory
from playhead_collector.store.postgres.runs import BIGINT, LAST_RUN, id_of
from playhead_collector.store.postgres.sealed.packing import pack_runs
from playhead_collector.store.postgres.sealed.packs import Packs
from playhead_collector.store.postgres.statements import Conn

# More messages than the threads of a run have; of a larger one the rest is not counted.
_MOST_NODES = 200_000
# Events are read so many at a time, so that others get their turn between.
_EVENTS = 4 * events.PAGE_EVENTS
# A content is in one pack, of 16 runs; others are found for a short hash only.
_MOST_PACKED_WITH = 64
# Runs that go on, or have just ended: reading one takes some milliseconds.
_MOST_READ = 100


class PostgresUseStore:
    """Implements `ports.uses.UseStore`."""

    _db: Database
    _memory: StoreMemory

    async def use_totals(self, project_id: int, ref: ContentRef) -> UseTotals:
        recent, unread = await self._read_runs(project_id, ref)
        without = [id_of(each.run) for each in recent]
        async with self._db.reading() as conn:
            row = await sql.row(conn, "content_use_totals", project_id=project_id, ref=_short(ref), without=without)
        runs, calls, *times = row or (0, 0, None, None)
        began = sorted([each.started_ns for each in recent] + [time for time in times if time is not None])
        return UseTotals(
            runs + len(recent),
            calls + sum(each.calls for each in recent),
            began[0] if began else None,
            began[-1] if began else None,
            recent,
            unread,
        )

    async def uses(
        self, project_id: int, ref: ContentRef, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[ContentUse]:
        started, run = (BIGINT, LAST_RUN) if before is None else (before[0], id_of(before[1]))
        asked = {"ref": _short(ref), "before_started": started, "before_run": run, "how_many": limit}
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "content_uses", project_id=project_id, **asked)
        return [ContentUse(row["run_id"].hex, row["started_ns"], row["calls"]) for row in rows]

    async def _read_runs(self, project_id: int, ref: ContentRef) -> tuple[list[ContentUse], bool]:
        """Runs with the content among those that are not in the index, or were packed together with it."""
        async with self._db.reading() as conn:
            packed = await sql.rows(
                conn, "runs_packed_with", project_id=project_id, key=key_of(ref), most=_MOST_PACKED_WITH
            )
            waiting = await sql.rows(conn, "runs_without_uses", project_id=project_id, how_many=_MOST_READ + 1)
        found: dict[str, ContentUse] = {}
        for run, started_ns in _each_once([*packed, *waiting[:_MOST_READ]]).items():
            uses = await uses_of(self._db, self._memory.packs, project_id, run)
            if ref.plain in uses:
                found[run] = ContentUse(run, started_ns, uses[ref.plain])
        newest = sorted(found.values(), key=lambda each: (each.started_ns, each.run), reverse=True)
        return newest, len(waiting) > _MOST_READ


async def pack_and_index(db: Database, packs: Packs, due: Sequence[ToPack], today: datetime.date) -> int:
    """Packs what runs of one project name, and writes what each had. Returns how many were packed.  Raises
    StoreCollision."""
    project_id, runs = due[0].project_id, [each.run for each in due]
    packed = await pack_runs(db, packs, project_id, list(map(id_of, runs)), today)
    await _index_runs(db, packs, project_id, runs, packed)
    return len(packed)


async def _index_runs(
    db: Database, packs: Packs, project_id: int, runs: Sequence[str], packed: Collection[ContentRef]
) -> None:
    """Writes what these runs had, but for what was `packed` with them. One that was deleted meanwhile gets no row."""
    for run in runs:
        uses = await uses_of(db, packs, project_id, run)
        before = {ref: calls for ref, calls in uses.items() if ref not in packed}
        given = {"refs": list(map(_short, before)), "calls": list(before.values())}

        async def write(conn: Conn, run: str = run, given: dict[str, list[int]] = given) -> None:
            await begin_write(conn, project_id)
            await sql.run(conn, "write_content_use", project_id=project_id, run=id_of(run), **given)

        await db.transact(write)


async def uses_of(db: Database, packs: Packs, project_id: int, run: str) -> dict[ContentRef, int]:
    """What a run had by itself: for each content, how many of its model calls were given it."""
    own: list[RunEvent] = []
    after = 0
    async with db.reading() as conn:
        while portion := await events.read(conn, project_id, run, after=after, limit=_EVENTS):
            own += [event for event in portion if event.run == run]
            after = portion[-1].seq
        found = await threads.read_together(conn, packs, project_id, call_threads(own), _MOST_NODES)
    return await asyncio.to_thread(count_uses, own, found.nodes)


def _each_once(rows: Iterable[Record]) -> dict[str, int]:
    return {row["run_id"].hex: row["started_ns"] for row in rows}


def _short(ref: ContentRef) -> int:
    return int.from_bytes(ref.digest[:8], signed=True)
