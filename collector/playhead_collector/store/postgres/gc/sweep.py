"""store: one sweep of a project's contents and threads, in steps.  Its position is in the database, so any collector
can make the next step, and a collector that dies loses nothing.

    runs → young contents, nodes, packs → trace → doomed nodes → nodes, in packs → contents, in packs → marks → over
    |------------------ mark ------------------|                 |---------- delete, alone ----------|
"""

import datetime
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from asyncpg import Record

from playhead_collector.errors import StoreCollision
from playhead_collector.store.ports.retention import Swept
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.gc import packed
from playhead_collector.store.postgres.gc.gate import begin_exclusive_write
from playhead_collector.store.postgres.gc.marking import mark_run, trace
from playhead_collector.store.postgres.sealed.packs import Packs
from playhead_collector.store.postgres.statements import Conn

# Marking a run of a thousand spans takes 10 ms; reading a row, a microsecond.
_RUNS, _ROWS = 10, 10_000
# Deleting a thousand rows takes about 10 ms, in which writers wait.
_DELETED = 1_000
# At most this many new refs are traced while writers wait; more are traced before, in steps of their own.
_TRACED_BEFORE, _TRACED_ALONE = 40, 4
# Longer than nearly all writing transactions; new writers wait in this time.
_LOCK_TIMEOUT_MS = 250
# Reading a pack takes a millisecond, writing it again ten.
_PACKS, _PACKS_REWRITTEN = 50, 4
_NS_PER_SECOND = 1_000_000_000


class SweepPhase(IntEnum):
    """Phases of a sweep. The numbers are stored in rows."""

    (
        RUNS, CONTENTS_YOUNG, NODES_YOUNG, PACKS_YOUNG, TRACE, DOOMED, NODES, PACKED_NODES, CONTENTS, PACKED_CONTENTS,
        MARKS,
    ) = range(11)  # fmt: skip


def cutoff_of(now_ns: int, grace_ns: int) -> datetime.date:
    """Returns the first day whose data is kept. All earlier days are older than the grace period."""
    return datetime.datetime.fromtimestamp((now_ns - grace_ns) // _NS_PER_SECOND, datetime.UTC).date()


def ripe_ns(now_ns: int, grace_ns: int) -> int:
    """Returns the beginning of the cutoff day, in ns since 1970."""
    return _begin_ns(cutoff_of(now_ns, grace_ns))


async def step(conn: Conn, packs: Packs, project_id: int, now_ns: int, grace_ns: int) -> Swept:
    """Makes the next step in the caller's transaction. Raises StoreCollision when another collector is making a step of
    this sweep."""
    if not await sql.value(conn, "lock_sweep", project_id=project_id):
        raise StoreCollision("another collector makes a step of this sweep now: try again")
    row = await sql.row(conn, "sweep", project_id=project_id)
    if row is None:
        await begin_exclusive_write(
            conn, project_id, _LOCK_TIMEOUT_MS
        )  # writers after this see that a sweep is running
        await sql.run(conn, "clear_news", project_id=project_id)
        await sql.run(conn, "begin_sweep", project_id=project_id, now=now_ns, cutoff=cutoff_of(now_ns, grace_ns))
        return Swept(SweepPhase.RUNS.name.lower())
    moved = await _STEPS[SweepPhase(row["phase"])](conn, packs, project_id, row)
    where = {name: row[name] for name in ("phase", "at_run", "at_ref", "at_lineage", "at_depth")}
    where |= {"contents": 0, "nodes": 0} | dict(moved)
    if where["phase"] > SweepPhase.MARKS:
        await sql.run(conn, "end_sweep", project_id=project_id)
        await sql.run(conn, "swept", project_id=project_id, until=_begin_ns(row["cutoff"]) - 1)
        return Swept(None, row["contents"], row["nodes"])
    await sql.run(conn, "move_sweep", project_id=project_id, **where)
    phase = SweepPhase(where["phase"]).name.lower()
    return Swept(phase, row["contents"] + where["contents"], row["nodes"] + where["nodes"])


def _begin_ns(day: datetime.date) -> int:
    return int(datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()) * _NS_PER_SECOND


Moved = Mapping[str, Any]
_FROM_THE_START: Moved = {"at_lineage": -1, "at_depth": -1, "at_ref": b""}


def _next(row: Record) -> Moved:
    return {"phase": row["phase"] + 1, **_FROM_THE_START}


async def _mark_runs(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    runs = await sql.column(conn, "runs_after", project_id=project_id, after=row["at_run"], how_many=_RUNS)
    for run in runs:
        await mark_run(conn, project_id, run)
    if runs:
        return {"at_run": runs[-1]}
    await sql.run(conn, "forget_orphans", project_id=project_id, cutoff=row["cutoff"])
    await sql.run(conn, "mark_stated", project_id=project_id)
    return _next(row)


async def _mark_young_contents(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    parameters = {"after": row["at_ref"], "cutoff": row["cutoff"], "how_many": _ROWS}
    last = await sql.value(conn, "mark_young_contents", project_id=project_id, **parameters)
    return _next(row) if last is None else {"at_ref": last}


async def _mark_young_nodes(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    return _past(row, await sql.row(conn, "mark_young_nodes", project_id=project_id, **_nodes_after(row)))


async def _mark_young_packs(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    parameters = {"after": row["at_lineage"], "cutoff": row["cutoff"], "how_many": _PACKS}
    numbers = await sql.column(conn, "young_packs", project_id=project_id, **parameters)
    if numbers:
        await packed.mark_all(conn, packs, project_id, numbers)
        return {"at_lineage": numbers[-1]}
    await sql.run(conn, "mark_packed_seen", project_id=project_id, cutoff=row["cutoff"])
    return _next(row)


async def _trace(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    await sql.run(conn, "take_news", project_id=project_id)
    return {} if await trace(conn, packs, project_id) else _next(row)


async def _list_doomed(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    return _past(row, await sql.row(conn, "doom_nodes", project_id=project_id, **_nodes_after(row)))


def _nodes_after(row: Record) -> Mapping[str, Any]:
    return {"lineage": row["at_lineage"], "depth": row["at_depth"], "cutoff": row["cutoff"], "how_many": _ROWS}


def _past(row: Record, last: Record | None) -> Moved:
    return _next(row) if last is None else {"at_lineage": last["lineage"], "at_depth": last["depth"]}


async def _delete_nodes(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    if row["at_depth"] < 0:  # the first deleting step
        await sql.run(conn, "new_epoch", project_id=project_id)
    done = await sql.row(conn, "delete_nodes", project_id=project_id, cutoff=row["cutoff"], how_many=_DELETED)
    if done is None or not done["looked"]:
        return _next(row)
    return {"nodes": done["gone"], "at_depth": 0}


async def _delete_contents(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    parameters = {"after": row["at_ref"], "cutoff": row["cutoff"], "how_many": _DELETED}
    done = await sql.row(conn, "delete_contents", project_id=project_id, **parameters)
    if done is None or done["ref"] is None:
        return _next(row)
    await sql.run(conn, "forget_searched_texts", project_id=project_id, refs=done["gone"])
    return {"contents": len(done["gone"]), "at_ref": done["ref"]}


async def _take_packed_nodes(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    numbers = await _old_packs(conn, project_id, row)
    if not numbers:
        return _next(row)
    return {"nodes": await packed.take_nodes(conn, packs, project_id, numbers), "at_lineage": numbers[-1]}


async def _take_packed_contents(conn: Conn, packs: Packs, project_id: int, row: Record) -> Moved:
    if not await _alone_and_marked(conn, packs, project_id):
        return {}
    numbers = await _old_packs(conn, project_id, row)
    if not numbers:
        return _next(row)
    return {"contents": await packed.take_contents(conn, packs, project_id, numbers), "at_lineage": numbers[-1]}


async def _old_packs(conn: Conn, project_id: int, row: Record) -> list[int]:
    parameters = {"before": row["at_lineage"], "cutoff": row["cutoff"], "how_many": _PACKS_REWRITTEN}
    return await sql.column(conn, "old_packs", project_id=project_id, **parameters)


async def _alone_and_marked(conn: Conn, packs: Packs, project_id: int) -> bool:
    """Excludes writers until this transaction ends, and marks all new refs with all that they name. Returns False when
    there are too many new refs: they are marked in further steps before anything is deleted."""
    await sql.run(conn, "take_news", project_id=project_id)
    if not await _traced_within(conn, packs, project_id, _TRACED_BEFORE):
        return False
    await begin_exclusive_write(conn, project_id, _LOCK_TIMEOUT_MS)
    await sql.run(conn, "take_news", project_id=project_id)
    return await _traced_within(conn, packs, project_id, _TRACED_ALONE)


async def _traced_within(conn: Conn, packs: Packs, project_id: int, times: int) -> bool:
    for _ in range(times):
        if not await trace(conn, packs, project_id):
            return True
    return False


async def _unmark(conn: Conn, _: Packs, project_id: int, row: Record) -> Moved:
    return {} if await sql.run(conn, "unmark", project_id=project_id, how_many=_ROWS) else _next(row)


_STEPS = {
    SweepPhase.RUNS: _mark_runs,
    SweepPhase.CONTENTS_YOUNG: _mark_young_contents,
    SweepPhase.NODES_YOUNG: _mark_young_nodes,
    SweepPhase.PACKS_YOUNG: _mark_young_packs,
    SweepPhase.TRACE: _trace,
    SweepPhase.DOOMED: _list_doomed,
    SweepPhase.NODES: _delete_nodes,
    SweepPhase.PACKED_NODES: _take_packed_nodes,
    SweepPhase.CONTENTS: _delete_contents,
    SweepPhase.PACKED_CONTENTS: _take_packed_contents,
    SweepPhase.MARKS: _unmark,
}
