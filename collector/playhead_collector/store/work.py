"""[store] → project: a run under its row lock, with all that projecting it needs; and what comes of it, stored."""

import asyncio
import datetime
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from uuid import UUID

from asyncpg import Record

from playhead.model.event import RunEvent
from playhead.model.message import Message, read_message
from playhead.model.ref import ContentRef
from playhead_collector.store import content, events, llm_calls, runs, shared, spans, threads
from playhead_collector.store import statements as sql
from playhead_collector.store.compression import unsqueeze
from playhead_collector.store.content import Dictionaries
from playhead_collector.store.ports import Projection, RunWork
from playhead_collector.store.spans import Merged, Page
from playhead_collector.store.statements import Conn
from playhead_collector.store.threads import Lineages

# Reading or writing more than this at once would hold up the event loop: a thread does it.
_BUSY_BYTES, _BUSY_EVENTS = 256 * 1024, 2_000


@asynccontextmanager
async def working(
    conn: Conn, dictionaries: Dictionaries, lineages: Lineages, project: int, run: UUID, today: datetime.date
) -> AsyncGenerator[RunWork | None]:
    """The run, locked until the transaction that `conn` is in ends; None when there is no such run.

    Ingest is not held up: it tells of news in a row of its own.  The news are read first, so that whatever arrives
    later counts as not projected, even if this sees some of it.
    """
    locked = await sql.row(conn, "lock_run", project=project, run=run)
    news = await sql.row(conn, "news", project=project, run=run)
    if locked is None or news is None:
        yield None
        return
    pages, merged = await read_spans(conn, project, run)
    parent = await shared.read_parent(conn, project, run, merged.spans)
    refs = [*spans.named_refs(merged.spans, merged.logs), *shared.threads_in(parent.events if parent else ())]
    await threads.adopt(conn, lineages, project, today)
    nodes, roles = await threads.read_many(conn, project, refs)
    sealed: Sequence[RunEvent] | None = None
    if locked["sealed"]:
        sealed = await events.read(conn, project, run.hex, after=locked["shared"] or 0)
    work = RunWork(run.hex, merged.spans, merged.logs, nodes, roles, sealed, news["arrived_ns"])
    work.parent, work.shared = parent, locked["shared"]
    work.read = partial(_read_messages, conn, dictionaries, project, work.messages)
    yield work
    if work.result is not None:
        bodies = await _tidy(conn, project, run, pages, merged, ended=work.result.row.ended_ns is not None)
        changed = await _store(conn, project, run, work.result, bodies)
        if changed is not None:
            await shared.wake_forks(conn, project, run, changed, news["arrived_ns"])
        await sql.run(conn, "forget_news", project=project, run=run, news=news["news"])


async def read_spans(conn: Conn, project: int, run: UUID) -> tuple[list[Page], Merged]:
    """The pages of a run, and what counts of them."""
    rows = await sql.rows(conn, "read_pages", project=project, run=run)
    if sum(len(row["body"]) for row in rows) > _BUSY_BYTES:
        return await asyncio.to_thread(_unpack, rows)
    return _unpack(rows)


async def _read_messages(
    conn: Conn,
    dictionaries: Dictionaries,
    project: int,
    into: dict[ContentRef, Message],
    refs: Collection[ContentRef],
) -> None:
    for ref, found in (await content.read(conn, dictionaries, project, refs)).items():
        with suppress(ValueError, RecursionError):
            into[ref] = read_message(found.data)


def _unpack(rows: Sequence[Record]) -> tuple[list[Page], Merged]:
    pages = [spans.unpack(row["page"], row["body"]) for row in rows]
    return pages, spans.merge(pages)


async def _tidy(
    conn: Conn, project: int, run: UUID, pages: Sequence[Page], merged: Merged, *, ended: bool
) -> dict[int, bytes]:
    """Bodies of the pages as they are then, by number."""
    bodies = {page.number: page.body for page in pages}
    tidied = spans.tidy(pages, merged, thoroughly=ended)
    if tidied is None:
        return bodies
    await sql.run(conn, "delete_pages", project=project, run=run, pages=tidied.gone)
    await sql.run(
        conn,
        "write_pages",
        project=project,
        run=run,
        pages=[number for number, _ in tidied.pages],
        digests=[page.digest for _, page in tidied.pages],
        items=[page.items for _, page in tidied.pages],
        bodies=[page.body for _, page in tidied.pages],
    )
    kept = {number: body for number, body in bodies.items() if number not in tidied.gone}
    return kept | {number: page.body for number, page in tidied.pages}


async def _store(conn: Conn, project: int, run: UUID, result: Projection, bodies: Mapping[int, bytes]) -> int | None:
    """The seq from which on events may be others now."""
    # A page of spans is small beside those of events as long as it is the only one. It may still change while the run
    # goes on, and then events would have to be packed again for that alone.
    ended = result.row.ended_ns is not None
    number, body = next(iter(bodies.items())) if ended and len(bodies) == 1 else (None, None)
    beside = None if body is None else unsqueeze(body)
    if len(result.events) > _BUSY_EVENTS:
        pages = await asyncio.to_thread(events.pack, result.events, beside, result.row.shared or 0)
    else:
        pages = events.pack(result.events, beside, result.row.shared or 0)
    changed = await events.write(conn, project, run, pages, number)
    known = 0
    if result.row.shared and result.snapshots:
        of = {"parent": runs.id_of(result.row.fork_of or ""), "upto": result.row.shared}
        known = await sql.value(conn, "shared_history", project=project, **of)
    snapshots = events.pack_snapshots(sorted(result.snapshots, key=lambda state: state.seq), known)
    await events.write_snapshots(conn, project, run, snapshots)
    await llm_calls.write(conn, project, run, result.events)
    pending = await sql.value(conn, "settle_pending", project=project, run=run)
    await runs.write(conn, project, replace(result.row, run=run.hex, content_pending=pending))
    return changed
