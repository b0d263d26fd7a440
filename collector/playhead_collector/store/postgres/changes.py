"""projection → [store] → live: how projections changed the events of runs: compared, stored, read and notified.

A projection's difference is stored with the projection, and listeners get a NOTIFY.  They listen on a connection of
their own, which is replaced when it breaks.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from uuid import UUID

from asyncpg import Connection, InterfaceError, PostgresError, Record

from playhead.model.event import RunEvent
from playhead.wire.delays import delay_s
from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.ports.changes import RunChange, RunHead
from playhead_collector.store.postgres import events
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.packs import PartReader
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn

log = logging.getLogger(__name__)


# --- the difference that a projection made ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventsDifference:
    """The difference that a projection made to a run's events.  See `RunChange` in `store/ports/changes.py`."""

    first: int
    last: int
    known: int
    altered: tuple[int, ...] = ()
    was: tuple[int, ...] | None = None

    @property
    def changes_events(self) -> bool:
        """Whether there is any difference."""
        return self.last > self.known or bool(self.altered) or self.was is not None

    @property
    def first_changed(self) -> int:
        """The first seq whose event is new or changed."""
        return min((self.first, *self.altered))


def growth_difference(known: int, new: int, altered: Iterable[RunEvent]) -> EventsDifference:
    """Returns the difference of a run that had `known` events and got `new` more at the end, while events in `altered`
    got other data."""
    return EventsDifference(known + 1, known + new, known, tuple(sorted(event.seq for event in altered)))


def difference(
    before: Mapping[int, RunEvent], known: int, after: Sequence[RunEvent], shared: int, shared_before: int
) -> EventsDifference:
    """Returns the difference of a run that had `known` events before. Its own events are now `after`, which follow the
    `shared` events of its parent. `shared_before`: the number of shared events before.

    `before` has the earlier events by seq. Events that are known to be unchanged may be missing in it.
    """
    last = shared + len(after)
    moved = _first_moved(before, known, after, shared)
    if shared != shared_before:
        moved = min(moved, shared + 1, shared_before + 1)
    if moved > min(known, last) and last >= known:
        altered = tuple(seq for seq, old in before.items() if seq <= last and old != after[seq - shared - 1])
        return EventsDifference(known + 1, last, known, tuple(sorted(altered)))
    seqs = {event.id: seq for seq, event in before.items()}

    def former(seq: int) -> int:
        if seq <= shared:
            return seq if seq <= shared_before else 0
        return (
            seq
            if seq <= known and seq > shared_before and seq not in before
            else seqs.get(after[seq - shared - 1].id, 0)
        )

    was = tuple(former(seq) for seq in range(moved, last + 1))
    altered = [seq for seq in before if shared < seq < moved and before[seq] != after[seq - shared - 1]]
    altered += [
        seq
        for seq, old in enumerate(was, moved)
        if old in before and seq > shared and replace(before[old], seq=seq) != after[seq - shared - 1]
    ]
    return EventsDifference(moved, last, known, tuple(sorted(altered)), was)


def _first_moved(before: Mapping[int, RunEvent], known: int, after: Sequence[RunEvent], shared: int) -> int:
    last = shared + len(after)
    for seq in sorted(before):
        if seq > last or seq <= shared or before[seq].id != after[seq - shared - 1].id:
            return seq
    return min(known, last) + 1


# --- stored differences ----------------------------------------------------------------------------------------------

# A notification may have 8,000 bytes: this many ids of 33 characters, and a project.
_RUNS_PER_NOTIFICATION = 200


async def write(
    conn: Conn, project_id: int, now_ns: int, differences: Mapping[UUID, tuple[int, EventsDifference]]
) -> None:
    """Stores the differences of runs with the numbers of their projections, and notifies listeners."""
    rows = sorted(
        (number, run, difference) for run, (number, difference) in differences.items() if difference.changes_events
    )
    if not rows:
        return
    await sql.run(
        conn,
        "write_changes",
        project_id=project_id,
        now=now_ns,
        projections=[number for number, _, _ in rows],
        runs=[run for _, run, _ in rows],
        firsts=[difference.first for _, _, difference in rows],
        lasts=[difference.last for _, _, difference in rows],
        knowns=[difference.known for _, _, difference in rows],
        altered=[_array_text(difference.altered) if difference.altered else None for _, _, difference in rows],
        was=[None if difference.was is None else _array_text(difference.was) for _, _, difference in rows],
    )
    await notify(conn, project_id, [run for _, run, _ in rows])


async def notify(conn: Conn, project_id: int, runs: Sequence[UUID]) -> None:
    """Sends a NOTIFY with the changed runs. Listeners get it when the transaction commits."""
    for start in range(0, len(runs), _RUNS_PER_NOTIFICATION):
        payload = [str(project_id), *(run.hex for run in runs[start : start + _RUNS_PER_NOTIFICATION])]
        await sql.value(conn, "tell_changes", payload=" ".join(payload))


@dataclass(frozen=True, slots=True)
class PostgresChangeReader:
    """Implements `ports.changes.ChangeReader` in one transaction."""

    conn: Conn
    project_id: int
    parts: PartReader | None = None

    async def removed(self) -> int:
        conn = self.conn
        return await sql.value(conn, "changes_removed", project_id=self.project_id)

    async def newest(self) -> int:
        conn = self.conn
        return await sql.value(conn, "newest_change", project_id=self.project_id)

    async def before(self, time_ns: int) -> int:
        conn = self.conn
        return await sql.value(conn, "change_before", project_id=self.project_id, time=time_ns)

    async def head(self, run: str) -> RunHead | None:
        conn = self.conn
        row = await sql.row(conn, "run_head", project_id=self.project_id, run=id_of(run))
        return None if row is None else RunHead(*row.values())

    async def changes(self, run: str | None, after: int, limit: int) -> Sequence[RunChange]:
        conn = self.conn
        parameters = {"project_id": self.project_id, "after": after, "how_many": limit}
        if run is None:
            return _run_changes(await sql.rows(conn, "all_changes", **parameters))
        return _run_changes(await sql.rows(conn, "run_changes", run=id_of(run), **parameters))

    async def moves(self, runs: Iterable[str], after: int) -> Sequence[RunChange]:
        conn = self.conn
        ids = [id_of(run) for run in runs]
        return _run_changes(await sql.rows(conn, "moves", project_id=self.project_id, runs=ids, after=after))

    async def events(self, run: str, after: int, upto: int) -> Sequence[RunEvent]:
        return await events.read(self.conn, self.project_id, run, after=after, upto=upto, parts=self.parts)


def _array_text(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _run_changes(rows: Sequence[Record]) -> list[RunChange]:
    return [
        RunChange(
            row["projection"],
            row["run_id"].hex,
            row["first_seq"],
            row["last_seq"],
            row["known"],
            tuple(row["altered"] or ()),
            None if row["was"] is None else tuple(row["was"]),
        )
        for row in rows
    ]


# --- notifications ---------------------------------------------------------------------------------------------------

CHANNEL = "playhead_changes"
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0

OnChange = Callable[[int, Sequence[str]], None]


@asynccontextmanager
async def listening(
    connect: Callable[[], Awaitable["Connection[Record]"]], on_change: OnChange
) -> AsyncGenerator[None]:
    """Calls `on_change` with the project and runs of each notification, until the block ends.

    If the connection is lost, reconnects after a delay. Notifications in between are missed.
    """
    task = asyncio.create_task(_listen(connect, on_change), name="playhead listener")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _listen(connect: Callable[[], Awaitable["Connection[Record]"]], on_change: OnChange) -> None:
    def notified(_conn: object, _pid: int, _channel: str, payload: object) -> None:
        project_id, *runs = str(payload).split()
        on_change(int(project_id), runs)

    failures = 0
    while True:
        with suppress(StoreUnavailable, OSError, PostgresError, InterfaceError, TimeoutError):
            conn = await connect()
            lost = asyncio.Event()
            conn.add_termination_listener(lambda _, lost=lost: lost.set())
            try:
                await conn.add_listener(CHANNEL, notified)
                failures = 0
                await lost.wait()
            finally:
                conn.terminate()
        failures += 1
        wait_s = delay_s(failures, _FIRST_RETRY_S, _LAST_RETRY_S)
        log.warning("the database does not tell of new events; trying again in %.0f s", wait_s)
        await asyncio.sleep(wait_s)


# --- the part of the store -------------------------------------------------------------------------------------------


class PostgresChanges:
    """Implements `ports.changes.ChangeStore`."""

    def __init__(self, db: Database, parts: PartReader | None = None) -> None:
        """`parts` reads the object store, where records of cold runs are."""
        self._db = db
        self._parts = parts

    @asynccontextmanager
    async def reading(self, project_id: int) -> AsyncGenerator[PostgresChangeReader]:
        async with self._db.reading() as conn, conn.transaction(isolation="repeatable_read", readonly=True):
            yield PostgresChangeReader(conn, project_id, self._parts)

    async def positions(self, project_id: int, runs: Sequence[str]) -> Mapping[str | None, int]:
        ids = [id_of(run) for run in runs]
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "projections_of", project_id=project_id, runs=ids)
            newest: dict[str | None, int] = {row["run_id"].hex: row["projection"] for row in rows}
            newest[None] = await sql.value(conn, "newest_change", project_id=project_id)
        return newest

    def listening(self, on_change: OnChange) -> AbstractAsyncContextManager[None]:
        return listening(self._db.connect, on_change)
