"""project → [store] → query: model calls by the thread that was their context.

The table keeps eight bytes of a thread's ref, which tell threads apart but for chance; whoever asks reads the call's
event anyway, and compares the ref.
"""

from collections.abc import Sequence
from uuid import UUID

from playhead.model.event import LlmCalled, RunEvent
from playhead.model.ref import ContentRef
from playhead_collector.store import statements as sql
from playhead_collector.store.statements import Conn


async def write(conn: Conn, project: int, run: UUID, events: Sequence[RunEvent]) -> None:
    """Makes these the run's."""
    calls = [(event.seq, event.thread) for event in events if isinstance(event, LlmCalled) and event.thread]
    await sql.run(
        conn,
        "write_llm_calls",
        project=project,
        run=run,
        seqs=[seq for seq, _ in calls],
        threads=[_short(thread) for _, thread in calls],
    )


async def with_thread(conn: Conn, project: int, thread: ContentRef, limit: int) -> list[tuple[str, int]]:
    """Run and seq of calls that had this context."""
    rows = await sql.rows(conn, "calls_with_thread", project=project, thread=_short(thread), how_many=limit)
    return [(row["run_id"].hex, row["seq"]) for row in rows]


def _short(thread: ContentRef) -> int:
    return int.from_bytes(thread.digest[:8], signed=True)
