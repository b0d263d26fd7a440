"""[store]: the lock between writing transactions and garbage collection."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from playhead_collector.store.ports.leases import Takeover
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The state that a writing transaction needs: its project, whether a sweep is running, and which of its runs were
    deleted or taken over."""

    project_id: int
    sweeping: bool = False
    deleted_runs: frozenset[UUID] = frozenset()
    takeovers: tuple[Takeover, ...] = ()

    async def note_refs(self, conn: Conn, refs: Iterable[bytes]) -> None:
        """Notes refs that this transaction stores or names. A running sweep keeps them and all that they name."""
        if self.sweeping and (digests := list(refs)):
            await sql.run(conn, "note_news", project_id=self.project_id, refs=digests)


async def begin_write(conn: Conn, project_id: int, runs: Iterable[UUID] = ()) -> WriteContext:
    """Starts a writing transaction; call it first. Waits for a running deletion or sweep step."""
    row = await sql.row(conn, "enter", project_id=project_id, runs=list(runs))
    if row is None:
        return WriteContext(project_id)
    return WriteContext(project_id, row["sweeping"], frozenset(row["gone"]), tuple(map(_takeover, row["taken"])))


def _takeover(text: str) -> Takeover:
    run, attempt, since_ns = text.split()
    return Takeover(UUID(run).hex, int(attempt), int(since_ns))


async def begin_exclusive_write(conn: Conn, project_id: int, lock_timeout_ms: int) -> None:
    """Excludes writers until this transaction ends. Raises a lock timeout (which counts as a collision) after
    `lock_timeout_ms`."""
    await sql.run(conn, "bound_locks", milliseconds=str(lock_timeout_ms))
    await sql.run(conn, "enter_alone", project_id=project_id)
