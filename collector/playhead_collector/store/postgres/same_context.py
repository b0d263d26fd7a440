"""projection → [store] → read: model calls by the thread that was their context.

The table has only eight bytes of a thread's ref, so two threads may rarely be mistaken for each other. Readers have to
read the call's event and compare the whole ref.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from playhead.model.event import LlmCalled, RunEvent
from playhead.model.ref import ContentRef
from playhead_collector.store.ports.uses import EventRange, SameContext
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn


class PostgresSameContextStore:
    """Implements `ports.same_context.SameContextStore`."""

    _db: Database

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


async def write(conn: Conn, project_id: int, events: Mapping[UUID, Sequence[RunEvent]], whole: Sequence[UUID]) -> None:
    """Stores the model calls among these events. Deletes all earlier rows of runs in `whole`."""
    calls = [
        (run, event.seq, event.thread)
        for run, run_events in events.items()
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


def _short(thread: ContentRef) -> int:
    return int.from_bytes(thread.digest[:8], signed=True)
