"""[store] → project: the history that a fork shares with its parent. It is stored only with the parent."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from playhead.model.span import Span
from playhead.projection.forking import named_parent
from playhead.projection.inputs import Parent
from playhead_collector.store.packing import span_pages
from playhead_collector.store.postgres import events
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.runs import id_of, label
from playhead_collector.store.postgres.statements import Conn


def parent_of(spans: Iterable[Span]) -> UUID | None:
    """Returns the run from which a run was forked, as its spans say; None if they name none.  Pure."""
    named = named_parent(spans)
    return None if named is None else id_of(named)


async def read_parent(conn: Conn, project_id: int, run: UUID, parent: UUID) -> Parent | None:
    """Returns the parent of a fork; None when the parent is not stored, or when `run` is among the parent's own
    ancestors (a circle)."""
    rows = await sql.rows(conn, "above", project_id=project_id, run=parent)
    by_id = {row["run_id"]: row for row in rows}
    if not rows or run in by_id:
        return None
    above = [by_id.pop(parent)]
    while above[-1]["shared_run"] in by_id:
        above.append(by_id.pop(above[-1]["shared_run"]))
    history = await events.read(conn, project_id, parent.hex)
    levels: list[Sequence[Span]] = []
    for row in above:
        pages = await sql.rows(conn, "read_pages", project_id=project_id, runs=[row["run_id"]], seen=[])
        levels.append(await asyncio.to_thread(_spans, [(page["page"], page["body"]) for page in pages]))
    return Parent(parent.hex, history, levels, above[0]["sealed"])


async def wake_forks(
    conn: Conn, project_id: int, locked: Sequence[UUID], changed: Mapping[UUID, int], now: int
) -> None:
    """Marks forks of runs in `changed` as having news if they share events from the given seq on. Also locks the news
    rows of the runs in `locked`."""
    forks = [label("fork_of", run.hex) for run in changed]
    seqs = list(changed.values())
    await sql.run(conn, "wake_forks", project_id=project_id, locked=locked, forks=forks, changed=seqs, now=now)


def _spans(pages: Iterable[tuple[int, bytes]]) -> Sequence[Span]:
    return span_pages.merge([span_pages.unpack(number, body) for number, body in pages]).spans
