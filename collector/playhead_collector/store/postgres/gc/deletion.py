"""serve → [store]: deletes a run and its data in one transaction.

A tombstone remains, so that spans that arrive later do not create the run again.  Contents and threads that no other
run names are deleted later (`sweep`).
"""

from collections.abc import Sequence
from uuid import UUID

from playhead_collector.store.ports.retention import Deleted
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.changes import journal
from playhead_collector.store.postgres.gc.gate import begin_exclusive_write
from playhead_collector.store.postgres.runs import label
from playhead_collector.store.postgres.statements import Conn

# New writers wait behind a deletion that waits for current writers; a large batch takes 2 s.
_LOCK_TIMEOUT_MS = 2_000


async def delete(conn: Conn, project_id: int, run: UUID, now_ns: int, *, forks: bool) -> Deleted:
    """See `ports.retention.RetentionStore.delete_run`."""
    await begin_exclusive_write(conn, project_id, _LOCK_TIMEOUT_MS)
    below = await _forks(conn, project_id, run)
    if below and not forks:
        return Deleted((), tuple(fork.hex for fork in below))
    stored = [row["run_id"] for row in await sql.rows(conn, "lock_runs", project_id=project_id, runs=[run, *below])]
    if run not in stored:
        return Deleted((), ())
    await sql.run(conn, "forget_searched_runs", project_id=project_id, runs=stored)
    await sql.run(conn, "delete_runs", project_id=project_id, runs=stored, now=now_ns)
    await journal.tell(conn, project_id, stored)
    return Deleted((run.hex, *(fork.hex for fork in stored if fork != run)), ())


async def _forks(conn: Conn, project_id: int, run: UUID) -> Sequence[UUID]:
    """Returns all runs that were forked from this run, directly or over other forks."""
    seen, latest = {run: None}, [run]
    while latest:
        labels = [label("fork_of", run_id.hex) for run_id in latest]
        forks = await sql.column(conn, "forks_of", project_id=project_id, labels=labels)
        latest = [run_id for run_id in forks if run_id not in seen]
        seen |= dict.fromkeys(latest)
    return [run_id for run_id in seen if run_id != run]
