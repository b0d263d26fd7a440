"""Transaction gate between writers and garbage collection."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn


@dataclass(frozen=True, slots=True)
class WriteContext:
    """What a writing transaction needs: the project, whether a sweep is running, and which of its runs were deleted."""

    project: int
    sweeping: bool = False
    deleted_runs: frozenset[UUID] = frozenset()

    async def note_refs(self, conn: Conn, refs: Iterable[bytes]) -> None:
        """Notes refs that this transaction stores or names: a running sweep keeps them and all that they name."""
        if self.sweeping and (given := list(refs)):
            await sql.run(conn, "note_news", project=self.project, refs=given)


async def begin_write(conn: Conn, project: int, runs: Iterable[UUID] = ()) -> WriteContext:
    """Starts a writing transaction. Call it first; waits for a running deletion or sweep step."""
    found = await sql.row(conn, "enter", project=project, runs=list(runs))
    return WriteContext(project, found["sweeping"], frozenset(found["gone"])) if found else WriteContext(project)


async def begin_exclusive_write(conn: Conn, project: int, lock_timeout_ms: int) -> None:
    """Excludes writers until this transaction ends. Raises a lock timeout (a collision) after `lock_timeout_ms`."""
    await sql.run(conn, "bound_locks", milliseconds=str(lock_timeout_ms))
    await sql.run(conn, "enter_alone", project=project)
