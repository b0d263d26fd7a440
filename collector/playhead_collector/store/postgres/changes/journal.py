"""project → [store] → live: stores and reads the differences that projections made to events."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from asyncpg import Record

from playhead.model.event import RunEvent
from playhead_collector.store.ports.changes import RunChange, RunHead
from playhead_collector.store.postgres import events
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.changes.difference import EventsDifference
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn

# A notification may have 8,000 bytes: this many ids of 33 characters, and a project.
_RUNS_TOGETHER = 200


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
        altered=[_array(difference.altered) if difference.altered else None for _, _, difference in rows],
        was=[None if difference.was is None else _array(difference.was) for _, _, difference in rows],
    )
    await tell(conn, project_id, [run for _, run, _ in rows])


async def tell(conn: Conn, project_id: int, runs: Sequence[UUID]) -> None:
    """Sends a NOTIFY with the changed runs. Listeners get it when the transaction commits."""
    for start in range(0, len(runs), _RUNS_TOGETHER):
        payload = [str(project_id), *(run.hex for run in runs[start : start + _RUNS_TOGETHER])]
        await sql.value(conn, "tell_changes", payload=" ".join(payload))


@dataclass(frozen=True, slots=True)
class PostgresChangeReader:
    """Implements `ports.changes.ChangeReader` in one transaction."""

    conn: Conn
    project_id: int

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
            return _changes(await sql.rows(conn, "all_changes", **parameters))
        return _changes(await sql.rows(conn, "run_changes", run=id_of(run), **parameters))

    async def moves(self, runs: Iterable[str], after: int) -> Sequence[RunChange]:
        conn = self.conn
        ids = [id_of(run) for run in runs]
        return _changes(await sql.rows(conn, "moves", project_id=self.project_id, runs=ids, after=after))

    async def events(self, run: str, after: int, upto: int) -> Sequence[RunEvent]:
        return await events.read(self.conn, self.project_id, run, after=after, upto=upto)


@asynccontextmanager
async def reading(db: Database, project_id: int) -> AsyncGenerator[PostgresChangeReader]:
    """Yields a reader that sees one snapshot of the database."""
    async with db.reading() as conn, conn.transaction(isolation="repeatable_read", readonly=True):
        yield PostgresChangeReader(conn, project_id)


async def positions(conn: Conn, project_id: int, runs: Sequence[str]) -> Mapping[str | None, int]:
    """Returns the numbers of the newest projections of these runs, and under None the number of the project's newest
    change."""
    rows = await sql.rows(conn, "projections_of", project_id=project_id, runs=[id_of(run) for run in runs])
    newest: dict[str | None, int] = {row["run_id"].hex: row["projection"] for row in rows}
    newest[None] = await sql.value(conn, "newest_change", project_id=project_id)
    return newest


def _array(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _changes(rows: Sequence[Record]) -> list[RunChange]:
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
