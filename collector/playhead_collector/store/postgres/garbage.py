"""[store]: garbage collection: deletes runs at once, and contents and threads that no run names, in sweeps.

    runs → young contents, nodes, packs → trace → doomed nodes → nodes, in packs → contents, in packs → marks → over
    |------------------ mark ------------------|                 |---------- delete, alone ----------|

A sweep of a project marks and then deletes, in steps.  Its position is in the database, so any collector can make the
next step, and a collector that dies loses nothing.

A sweep never deletes marked data, nor data that was stored or named on or after the day of its cutoff (`last_seen`).
Every text that looks like a ref counts as a ref, so some content may be kept without need, but none is deleted wrongly.
While a sweep runs, writers note the refs that they store or name (`gc_news`). Before each deleting step, the sweep
excludes writers and marks these refs with all that they name, so acknowledged data is never deleted. Threads are
deleted from their end, so that the rest stays valid.

Senders assume for at most an hour that contents they have sent are stored (`playhead.export.ship`). The grace period
has to be longer, or they would name deleted contents.

What forgotten runs named (`erasing.py`) is not kept for being young: a sweep deletes it, unless it is marked.

A run is deleted with its data in one transaction.  A tombstone remains, so that spans that arrive later do not create
the run again.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any
from uuid import UUID

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead_collector.errors import ObjectStoreUnavailable, StoreCollision
from playhead_collector.store.ports.retention import Deleted, Swept
from playhead_collector.store.postgres import changes, named_refs, packed_garbage, search_blocks, tombstones
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_exclusive_write
from playhead_collector.store.postgres.packed_garbage import DamagedPacks
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.runs import id_of, label
from playhead_collector.store.postgres.statements import Conn

# --- the sweep -------------------------------------------------------------------------------------------------------

# Marking a run of a thousand spans takes 10 ms; reading a row, a microsecond.
_RUNS_PER_STEP, _ROWS_PER_STEP = 10, 10_000
# Deleting a thousand rows takes about 10 ms, in which writers wait.
_DELETED_PER_STEP = 1_000
# At most this many new refs are traced while writers wait; more are traced before, in steps of their own.
_TRACED_BEFORE, _TRACED_ALONE = 40, 4
# Longer than nearly all writing transactions; new writers wait in this time.
_SWEEP_LOCK_TIMEOUT_MS = 250
# Reading a pack takes a millisecond, writing it again ten.
_PACKS_PER_STEP, _REWRITTEN_PER_STEP = 50, 4
_NS_PER_SECOND = 1_000_000_000


class SweepPhase(IntEnum):
    """Phases of a sweep. The numbers are stored in rows."""

    (
        RUNS, CONTENTS_YOUNG, NODES_YOUNG, PACKS_YOUNG, TRACE, DOOMED, NODES, PACKED_NODES, CONTENTS, PACKED_CONTENTS,
        MARKS,
    ) = range(11)  # fmt: skip


class PostgresGarbage:
    """Implements `ports.retention.RetentionStore`."""

    def __init__(self, db: Database, clock: Callable[[], int], packs: Packs) -> None:
        self._db = db
        self._clock = clock
        self._packs = packs

    async def delete_run(self, project_id: int, run: str, *, forks: bool) -> Deleted:
        return await self._db.transact(lambda conn: _delete(conn, project_id, id_of(run), self._clock(), forks=forks))

    async def sweeps_due(self, grace_ns: int) -> Sequence[int]:
        async with self._db.reading() as conn:
            now_ns = self._clock()
            return await sql.column(conn, "sweeps_due", until=ripe_ns(now_ns, grace_ns) - 1, now=now_ns)

    async def sweep_step(self, project_id: int, grace_ns: int) -> Swept:
        # A step that needs bodies from the object store is rolled back and made again with them: writers do not wait.
        try:
            return await self._packs.supplied(
                lambda packs: self._db.transact(lambda conn: _step(conn, packs, project_id, self._clock(), grace_ns)),
                leave_damaged=True,
            )
        except ObjectStoreUnavailable:
            # It may be down for days. What writers note is marked once, instead of being noted again and again.
            await self._db.transact(lambda conn: _mark_news(conn, project_id))
            raise

    async def forget_tombstones(self, older_ns: int) -> int:
        before_ns = self._clock() - older_ns
        async with self._db.transaction() as conn:
            await sql.run(conn, "forget_content_tombstones", before=cutoff_of(before_ns, 0))
            return await sql.run(conn, "forget_tombstones", before=before_ns)

    async def forget_leases(self) -> int:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "forget_leases")

    async def forget_changes(self, older_ns: int) -> int:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "forget_changes", before=self._clock() - older_ns)


def cutoff_of(now_ns: int, grace_ns: int) -> datetime.date:
    """Returns the first day whose data is kept. All earlier days are older than the grace period."""
    return datetime.datetime.fromtimestamp((now_ns - grace_ns) // _NS_PER_SECOND, datetime.UTC).date()


def ripe_ns(now_ns: int, grace_ns: int) -> int:
    """Returns the beginning of the cutoff day, in ns since 1970."""
    return _begin_ns(cutoff_of(now_ns, grace_ns))


async def _step(conn: Conn, packs: Packs, project_id: int, now_ns: int, grace_ns: int) -> Swept:
    """Makes the next step in the caller's transaction. Raises StoreCollision when another collector is making a step of
    this sweep."""
    if not await sql.value(conn, "lock_sweep", project_id=project_id):
        raise StoreCollision("another collector makes a step of this sweep now: try again")
    row = await sql.row(conn, "sweep", project_id=project_id)
    if row is None:
        # Writers after this see that a sweep is running.
        await begin_exclusive_write(conn, project_id, _SWEEP_LOCK_TIMEOUT_MS)
        await sql.run(conn, "clear_news", project_id=project_id)
        await sql.run(conn, "begin_erasing", project_id=project_id, now=now_ns)
        await sql.run(conn, "begin_sweep", project_id=project_id, now=now_ns, cutoff=cutoff_of(now_ns, grace_ns))
        return Swept(SweepPhase.RUNS.name.lower())
    moved = await _STEPS[SweepPhase(row["phase"])](conn, packs, project_id, row)
    if moved.get("phase") == SweepPhase.MARKS:  # before marks are removed: they say what others name
        await sql.run(conn, "forget_refs_of_others", project_id=project_id)
        await sql.run(conn, "settle_erasing", project_id=project_id)
        if await sql.value(conn, "erased_since", project_id=project_id, day=tombstones.day_of(row["started_ns"])):
            await sql.run(conn, "erase_from_objects", project_id=project_id)
    where = {name: row[name] for name in ("phase", "at_run", "at_ref", "at_lineage", "at_depth")}
    where |= {"contents": 0, "nodes": 0} | dict(moved)
    if where["phase"] > SweepPhase.MARKS:
        await sql.run(conn, "end_sweep", project_id=project_id)
        await sql.run(conn, "swept", project_id=project_id, until=_begin_ns(row["cutoff"]) - 1)
        return Swept(None, row["contents"], row["nodes"])
    await sql.run(conn, "move_sweep", project_id=project_id, **where)
    phase = SweepPhase(where["phase"]).name.lower()
    return Swept(phase, row["contents"] + where["contents"], row["nodes"] + where["nodes"])


async def _mark_news(conn: Conn, project_id: int) -> None:
    if await sql.value(conn, "lock_sweep", project_id=project_id) and await sql.row(
        conn, "sweep", project_id=project_id
    ):
        await sql.run(conn, "take_news", project_id=project_id)


def _begin_ns(day: datetime.date) -> int:
    return int(datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()) * _NS_PER_SECOND


Moved = Mapping[str, Any]
_FROM_THE_START: Moved = {"at_lineage": -1, "at_depth": -1, "at_ref": b""}


def _next_phase(row: Record) -> Moved:
    return {"phase": row["phase"] + 1, **_FROM_THE_START}


async def _mark_runs(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    runs = await sql.column(conn, "runs_after", project_id=project_id, after=row["at_run"], how_many=_RUNS_PER_STEP)
    for run in runs:
        await mark_run(conn, project_id, run)
    if runs:
        return {"at_run": runs[-1]}
    await sql.run(conn, "forget_orphans", project_id=project_id, cutoff=row["cutoff"])
    await sql.run(conn, "mark_stated", project_id=project_id)
    return _next_phase(row)


async def _mark_young_contents(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    parameters = {"after": row["at_ref"], "cutoff": row["cutoff"], "how_many": _ROWS_PER_STEP}
    last = await sql.value(conn, "mark_young_contents", project_id=project_id, **parameters)
    return _next_phase(row) if last is None else {"at_ref": last}


async def _mark_young_nodes(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    return _next_place(row, await sql.row(conn, "mark_young_nodes", project_id=project_id, **_nodes_after(row)))


async def _mark_young_packs(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    parameters = {"after": row["at_lineage"], "cutoff": row["cutoff"], "how_many": _PACKS_PER_STEP}
    numbers = await sql.column(conn, "young_packs", project_id=project_id, **parameters)
    if numbers:
        await packed_garbage.mark_all(conn, packs, project_id, numbers)
        return {"at_lineage": numbers[-1]}
    await sql.run(conn, "mark_packed_seen", project_id=project_id, cutoff=row["cutoff"])
    return _next_phase(row)


async def _trace_marked(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    await sql.run(conn, "take_news", project_id=project_id)
    return {} if await trace(conn, packs, project_id) else _next_phase(row)


async def _list_doomed(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    return _next_place(row, await sql.row(conn, "doom_nodes", project_id=project_id, **_nodes_after(row)))


def _nodes_after(row: Record) -> Mapping[str, Any]:
    return {"lineage": row["at_lineage"], "depth": row["at_depth"], "cutoff": row["cutoff"], "how_many": _ROWS_PER_STEP}


def _next_place(row: Record, last: Record | None) -> Moved:
    return _next_phase(row) if last is None else {"at_lineage": last["lineage"], "at_depth": last["depth"]}


async def _delete_nodes(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    if row["at_depth"] < 0:  # the first deleting step
        await sql.run(conn, "new_epoch", project_id=project_id)
    done = await sql.row(conn, "delete_nodes", project_id=project_id, cutoff=row["cutoff"], how_many=_DELETED_PER_STEP)
    if done is None or not done["looked"]:
        return _next_phase(row)
    await tombstones.leave(conn, project_id, done["gone"], row["started_ns"])
    return {"nodes": len(done["gone"]), "at_depth": 0}


async def _delete_contents(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    parameters = {"after": row["at_ref"], "cutoff": row["cutoff"], "how_many": _DELETED_PER_STEP}
    done = await sql.row(conn, "delete_contents", project_id=project_id, **parameters)
    if done is None or done["ref"] is None:
        return _next_phase(row)
    await tombstones.leave(conn, project_id, done["gone"], row["started_ns"])
    return {"contents": len(done["gone"]), "at_ref": done["ref"]}


async def _take_packed_nodes(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    numbers = await _old_packs(conn, project_id, row)
    if not numbers:
        return _next_phase(row)
    try:
        gone = await packed_garbage.take_unmarked(conn, packs, project_id, numbers, of_nodes=True)
    except DamagedPacks as damaged:
        await packed_garbage.leave(conn, project_id, damaged.packs, row["started_ns"])
        return {}
    await tombstones.leave(conn, project_id, gone, row["started_ns"])
    return {"nodes": len(gone), "at_lineage": numbers[-1]}


async def _take_packed_contents(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    numbers = await _old_packs(conn, project_id, row)
    if not numbers:
        return _next_phase(row)
    try:
        gone = await packed_garbage.take_unmarked(conn, packs, project_id, numbers, of_nodes=False)
    except DamagedPacks as damaged:
        await packed_garbage.leave(conn, project_id, damaged.packs, row["started_ns"])
        return {}
    await tombstones.leave(conn, project_id, gone, row["started_ns"])
    return {"contents": len(gone), "at_lineage": numbers[-1]}


async def _old_packs(conn: Conn, project_id: int, row: Record) -> list[int]:
    parameters = {"before": row["at_lineage"], "cutoff": row["cutoff"], "how_many": _REWRITTEN_PER_STEP}
    return await sql.column(conn, "old_packs", project_id=project_id, **parameters)


async def _alone_and_marked(conn: Conn, packs: Packs, project_id: int) -> bool:
    """Excludes writers until this transaction ends, and marks all new refs with all that they name. Returns False when
    there are too many new refs: they are marked in further steps before anything is deleted."""
    await sql.run(conn, "take_news", project_id=project_id)
    if not await _traced_within(conn, packs, project_id, _TRACED_BEFORE):
        return False
    await begin_exclusive_write(conn, project_id, _SWEEP_LOCK_TIMEOUT_MS)
    await sql.run(conn, "take_news", project_id=project_id)
    return await _traced_within(conn, packs, project_id, _TRACED_ALONE)


async def _traced_within(conn: Conn, packs: Packs, project_id: int, times: int) -> bool:
    for _ in range(times):
        if not await trace(conn, packs, project_id):
            return True
    return False


async def _unmark(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    return {} if await sql.run(conn, "unmark", project_id=project_id, how_many=_ROWS_PER_STEP) else _next_phase(row)


_STEPS = {
    SweepPhase.RUNS: _mark_runs,
    SweepPhase.CONTENTS_YOUNG: _mark_young_contents,
    SweepPhase.NODES_YOUNG: _mark_young_nodes,
    SweepPhase.PACKS_YOUNG: _mark_young_packs,
    SweepPhase.TRACE: _trace_marked,
    SweepPhase.DOOMED: _list_doomed,
    SweepPhase.NODES: _delete_nodes,
    SweepPhase.PACKED_NODES: _take_packed_nodes,
    SweepPhase.CONTENTS: _delete_contents,
    SweepPhase.PACKED_CONTENTS: _take_packed_contents,
    SweepPhase.MARKS: _unmark,
}


# --- marking ---------------------------------------------------------------------------------------------------------

# 500 contents or threads take a few ms.
REFS_AT_A_TIME = 500


async def mark_run(conn: Conn, project_id: int, run: UUID) -> None:
    """Marks the refs in a run's spans, log events, events and states."""
    refs = await named_refs.in_run(conn, project_id, run)
    await sql.run(conn, "mark", project_id=project_id, refs=list(refs))
    await sql.run(conn, "mark_history", project_id=project_id, run=run)


async def trace(conn: Conn, packs: Packs, project_id: int) -> bool:
    """Marks the refs in the next marked contents and threads. Returns False if all marked ones were traced already."""
    refs = await sql.column(conn, "untraced", project_id=project_id, how_many=REFS_AT_A_TIME)
    if not refs:
        return False
    await sql.run(conn, "trace_threads", project_id=project_id, refs=refs)
    async for named in named_refs.in_rows(conn, packs, project_id, refs):
        await sql.run(conn, "mark", project_id=project_id, refs=list(named))
    nodes = await _trace_packed(conn, packs, project_id, list(map(ContentRef.from_digest, refs)))
    await sql.run(conn, "traced", project_id=project_id, refs=refs + nodes)
    return True


async def _trace_packed(conn: Conn, packs: Packs, project_id: int, refs: Sequence[ContentRef]) -> list[bytes]:
    """Marks the refs in packed contents and threads. Returns the digests of all nodes in the packed threads."""
    named, nodes = await named_refs.in_packs(conn, packs, project_id, refs)
    if named:
        await sql.run(conn, "mark", project_id=project_id, refs=list(named))
    return nodes


# --- deletion of runs ------------------------------------------------------------------------------------------------

# New writers wait behind a deletion that waits for current writers; a large batch takes 2 s.
_DELETION_LOCK_TIMEOUT_MS = 2_000


async def _delete(conn: Conn, project_id: int, run: UUID, now_ns: int, *, forks: bool) -> Deleted:
    await begin_exclusive_write(conn, project_id, _DELETION_LOCK_TIMEOUT_MS)
    below = await forks_of(conn, project_id, run)
    if below and not forks:
        return Deleted((), tuple(fork.hex for fork in below))
    stored = [row["run_id"] for row in await sql.rows(conn, "lock_runs", project_id=project_id, runs=[run, *below])]
    if run not in stored:
        return Deleted((), ())
    await delete_runs(conn, project_id, stored, now_ns)
    return Deleted((run.hex, *(fork.hex for fork in stored if fork != run)), ())


async def delete_runs(conn: Conn, project_id: int, runs: Sequence[UUID], now_ns: int) -> None:
    """Deletes all that is stored of these runs. Call it when writers are excluded, and the runs are locked."""
    await search_blocks.forget_runs(conn, project_id, runs)
    await sql.run(conn, "delete_runs", project_id=project_id, runs=runs, now=now_ns)
    await changes.notify(conn, project_id, runs)


async def forks_of(conn: Conn, project_id: int, run: UUID) -> Sequence[UUID]:
    """Returns all runs that were forked from this run, directly or over other forks."""
    seen, latest = {run: None}, [run]
    while latest:
        labels = [label("fork_of", run_id.hex) for run_id in latest]
        forks = await sql.column(conn, "forks_of", project_id=project_id, labels=labels)
        latest = [run_id for run_id in forks if run_id not in seen]
        seen |= dict.fromkeys(latest)
    return [run_id for run_id in seen if run_id != run]
