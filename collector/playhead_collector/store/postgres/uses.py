"""projection → [store] → read: which runs had a content, and which model calls had a thread as context.

The tables have only eight bytes of a ref, so two may rarely be mistaken for each other. Callers that look for
model calls have to read the call's event and compare the whole ref.
"""

import asyncio
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from asyncpg import Record

from playhead.model.event import LlmCalled, RunEvent
from playhead.model.ref import ContentRef
from playhead.projection.content_uses import call_threads, count_uses
from playhead_collector.store.packing.content_packs import key_of
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.uses import ContentUse, EventRange, SameContext, UseTotals
from playhead_collector.store.postgres import events, threads
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_write
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.runs import BIGINT, LAST_RUN, id_of
from playhead_collector.store.postgres.sealing import pack_runs
from playhead_collector.store.postgres.statements import Conn

# More messages than the threads of a usual run have. The rest of a larger run is not counted.
_MOST_NODES = 200_000
# Events are read in portions of this size, so that other tasks run in between.
_EVENTS = 4 * events.PAGE_EVENTS
# A content is in one pack, which names at most 16 runs. More are found only if short hashes collide.
_MOST_PACKED_WITH = 64
# Runs that go on, or have just ended, are read. Reading one takes a few milliseconds.
_MOST_READ = 100


class PostgresUses:
    """Implements `ports.uses.UseReader`."""

    def __init__(self, db: Database, packs: Packs) -> None:
        self._db = db
        self._packs = packs

    async def totals(self, project_id: int, ref: ContentRef) -> UseTotals:
        recent, unread = await self._read_runs(project_id, ref)
        without = [id_of(use.run) for use in recent]
        async with self._db.reading() as conn:
            row = await sql.row(conn, "content_use_totals", project_id=project_id, ref=_short(ref), without=without)
        runs, calls, *times = row or (0, 0, None, None)
        began = sorted([use.started_ns for use in recent] + [time for time in times if time is not None])
        return UseTotals(
            runs + len(recent),
            calls + sum(use.calls for use in recent),
            began[0] if began else None,
            began[-1] if began else None,
            recent,
            unread,
        )

    async def is_any_left_out(self, project_id: int) -> bool:
        async with self._db.reading() as conn:
            return bool(await sql.value(conn, "is_any_run_thinned", project_id=project_id))

    async def page(
        self, project_id: int, ref: ContentRef, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[ContentUse]:
        started, run = (BIGINT, LAST_RUN) if before is None else (before[0], id_of(before[1]))
        parameters = {"ref": _short(ref), "before_started": started, "before_run": run, "how_many": limit}
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "content_uses", project_id=project_id, **parameters)
        return [ContentUse(row["run_id"].hex, row["started_ns"], row["calls"]) for row in rows]

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        async with self._db.reading() as conn:
            rows = await sql.rows(
                conn, "calls_with_thread", project_id=project_id, thread=_short(thread), how_many=limit
            )
        return [(row["run_id"].hex, row["seq"]) for row in rows]

    async def runs_with_same_context(
        self, project_id: int, parts: Sequence[EventRange], *, without: Sequence[str], limit: int
    ) -> Sequence[SameContext]:
        async with self._db.reading() as conn:
            rows = await sql.rows(
                conn,
                "runs_with_same_context",
                project_id=project_id,
                runs=[id_of(part.run) for part in parts],
                afters=[part.after for part in parts],
                uptos=[part.upto for part in parts],
                without=[id_of(run) for run in without],
                how_many=limit,
            )
        return [SameContext(row["here"], row["run_id"].hex, row["seq"]) for row in rows]

    async def _read_runs(self, project_id: int, ref: ContentRef) -> tuple[list[ContentUse], bool]:
        """Returns runs that had the content, newest first, among runs that are not in the index or were packed together
        with it; and whether there are more runs that are not in the index and were not read."""
        async with self._db.reading() as conn:
            packed = await sql.rows(
                conn, "runs_packed_with", project_id=project_id, key=key_of(ref), most=_MOST_PACKED_WITH
            )
            waiting = await sql.rows(conn, "runs_without_uses", project_id=project_id, how_many=_MOST_READ + 1)
        by_run: dict[str, ContentUse] = {}
        for run, started_ns in _each_once([*packed, *waiting[:_MOST_READ]]).items():
            uses = await uses_of(self._db, self._packs, project_id, run)
            if ref.plain in uses:
                by_run[run] = ContentUse(run, started_ns, uses[ref.plain])
        newest = sorted(by_run.values(), key=lambda use: (use.started_ns, use.run), reverse=True)
        return newest, len(waiting) > _MOST_READ


async def write_llm_calls(
    conn: Conn, project_id: int, by_run: Mapping[UUID, Sequence[RunEvent]], whole: Sequence[UUID]
) -> None:
    """Stores the model calls among these events. Deletes all earlier rows of runs in `whole`."""
    calls = [
        (run, event.seq, event.thread)
        for run, run_events in by_run.items()
        for event in run_events
        if isinstance(event, LlmCalled) and event.thread
    ]
    if calls or whole:
        await sql.run(
            conn,
            "write_llm_calls",
            project_id=project_id,
            whole=whole,
            runs=[run for run, _, _ in calls],
            seqs=[seq for _, seq, _ in calls],
            threads=[_short(thread) for _, _, thread in calls],
        )


async def pack_and_index(db: Database, packs: Packs, due: Sequence[UnpackedRun], today: datetime.date) -> int:
    """Packs the contents that runs of one project name, and writes the index of the contents that each run had. Returns
    how many were packed.  Raises StoreCollision."""
    project_id, runs = due[0].project_id, [entry.run for entry in due]
    packed = await pack_runs(db, packs, project_id, list(map(id_of, runs)), today)
    await _index_runs(db, packs, project_id, runs, packed)
    return len(packed)


async def _index_runs(
    db: Database, packs: Packs, project_id: int, runs: Sequence[str], packed: Collection[ContentRef]
) -> None:
    """Writes the index of the contents that these runs had, except those that were `packed` with them. A run that was
    deleted meanwhile gets no row."""
    for run in runs:
        uses = await uses_of(db, packs, project_id, run)
        before = {ref: calls for ref, calls in uses.items() if ref not in packed}
        columns = {"refs": list(map(_short, before)), "calls": list(before.values())}

        async def write(conn: Conn, run: str = run, columns: dict[str, list[int]] = columns) -> None:
            await begin_write(conn, project_id)
            await sql.run(conn, "write_content_use", project_id=project_id, run=id_of(run), **columns)

        await db.transact(write)


async def uses_of(db: Database, packs: Packs, project_id: int, run: str) -> dict[ContentRef, int]:
    """Returns for each content that a run had by itself (without events shared with a parent), how many of its model
    calls had the content as input."""
    own_events: list[RunEvent] = []
    after = 0
    async with db.reading() as conn:
        while portion := await events.read(conn, project_id, run, after=after, limit=_EVENTS, parts=packs.part_reader):
            own_events += [event for event in portion if event.run == run]
            after = portion[-1].seq
        thread_nodes = await threads.read_together(conn, packs, project_id, call_threads(own_events), _MOST_NODES)
    return await asyncio.to_thread(count_uses, own_events, thread_nodes.nodes)


def _each_once(rows: Iterable[Record]) -> dict[str, int]:
    return {row["run_id"].hex: row["started_ns"] for row in rows}


def _short(ref: ContentRef) -> int:
    return int.from_bytes(ref.digest[:8], signed=True)
