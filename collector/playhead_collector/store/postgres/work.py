"""[store] → project: runs under their row locks, with all that projecting them needs; and what comes of it, stored.

Many runs at a time: each step is one statement for all of them.
"""

import asyncio
import datetime
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from asyncpg import Record

from playhead.model.message import Message, read_message
from playhead.model.ref import ContentRef
from playhead.project.inputs import Projection
from playhead_collector.store.packing import span_pages
from playhead_collector.store.packing.span_pages import Merged, Page, Tidied
from playhead_collector.store.packing.zstd import unsqueeze
from playhead_collector.store.ports import RunWork
from playhead_collector.store.postgres import content, events, llm_calls, runs, shared_history, threads
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.content import Dictionaries
from playhead_collector.store.postgres.runs import Summary
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.threads import Lineages

# Reading or writing more than this at once would hold up the event loop: a thread does it.
_BUSY_BYTES, _BUSY_EVENTS = 16 * 1024, 100


@dataclass(slots=True)
class _Locked:
    """A run that is being projected."""

    row: Record
    pages: Sequence[Page]
    merged: Merged
    work: RunWork

    @property
    def run(self) -> UUID:
        return self.row["run_id"]


@dataclass(slots=True)
class _ToStore:
    """What came of a run, packed."""

    locked: _Locked
    result: Projection
    tidied: Tidied | None
    packed: events.Packed


async def adopt_orphans(db: Database, lineages: Lineages, project: int, today: datetime.date) -> None:
    """Makes threads whole that a projection would miss.  In a transaction of its own: it locks what ingest locks."""
    async with db.reading() as conn:
        waiting = await sql.value(conn, "has_orphans", project=project)
    if waiting:
        await db.transact(lambda conn: threads.adopt(conn, lineages, project, today))


@asynccontextmanager
async def working(
    conn: Conn, dictionaries: Dictionaries, project: int, asked: Sequence[UUID], *, wait: bool
) -> AsyncGenerator[Sequence[RunWork]]:
    """Those of these runs that are there, locked until the transaction that `conn` is in ends.  Unless it is to `wait`,
    those that somebody else has locked are left out.

    Ingest is not held up: it tells of news in a row of its own.  The news are read first, so that whatever arrives
    later counts as not projected, even if this sees some of it.
    """
    if wait:
        rows = await sql.rows(conn, "lock_to_project", project=project, runs=asked)
    else:
        rows = await sql.rows(conn, "lock_free_to_project", project=project, runs=asked)
    if not rows:
        yield ()
        return
    locked = await _read(conn, dictionaries, project, rows)
    yield [each.work for each in locked]
    done = [each for each in locked if each.work.result is not None]
    if done:
        await _store(conn, project, done)


async def read_spans(conn: Conn, project: int, run: UUID) -> Merged:
    """What counts of a run's pages."""
    rows = await sql.rows(conn, "read_pages", project=project, runs=[run], seen=[])
    return (await _unpacked(rows, [run]))[run][1]


# --- reading ----------------------------------------------------------------------------------------------------------


async def _read(conn: Conn, dictionaries: Dictionaries, project: int, rows: Sequence[Record]) -> list[_Locked]:
    ids = [row["run_id"] for row in rows]
    unpacked = await _unpacked(await sql.rows(conn, "read_pages", project=project, runs=ids, seen=[]), ids)
    locked: list[_Locked] = []
    refs: set[ContentRef] = set()
    for row in rows:
        pages, merged = unpacked[row["run_id"]]
        work = RunWork(row["run_id"].hex, merged.spans, merged.logs, {}, {}, None, row["arrived_ns"])
        work.parent, work.shared = (
            await shared_history.read_parent(conn, project, row["run_id"], merged.spans),
            row["shared"],
        )
        if row["sealed"]:
            work.sealed = await events.read(conn, project, work.run, after=row["shared"] or 0)
        work.read = partial(_read_messages, conn, dictionaries, project, work.messages)
        refs.update(span_pages.named_refs(merged.spans, merged.logs))
        refs.update(shared_history.threads_in(work.parent.events if work.parent else ()))
        locked.append(_Locked(row, pages, merged, work))
    nodes, roles = await threads.read_many(conn, project, refs)
    for each in locked:
        each.work.nodes, each.work.roles = nodes, roles
    return locked


async def _unpacked(rows: Sequence[Record], ids: Iterable[UUID]) -> dict[UUID, tuple[list[Page], Merged]]:
    if sum(len(row["body"]) for row in rows) > _BUSY_BYTES:
        return await asyncio.to_thread(_unpack, rows, ids)
    return _unpack(rows, ids)


def _unpack(rows: Sequence[Record], ids: Iterable[UUID]) -> dict[UUID, tuple[list[Page], Merged]]:
    pages: dict[UUID, list[Page]] = {run: [] for run in ids}
    for row in rows:
        pages[row["run_id"]].append(span_pages.unpack(row["page"], row["body"]))
    return {run: (some, span_pages.merge(some)) for run, some in pages.items()}


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


# --- storing ----------------------------------------------------------------------------------------------------------


async def _store(conn: Conn, project: int, done: Sequence[_Locked]) -> None:
    histories = {each.run: await _shared_history(conn, project, each.work.result) for each in done}
    busy = sum(len(each.work.result.events) for each in done if each.work.result) > _BUSY_EVENTS
    to_store = await asyncio.to_thread(_packed, done, histories) if busy else _packed(done, histories)
    await _tidy(conn, project, to_store)
    packed = [each.packed for each in to_store]
    changed = await events.write(conn, project, packed)
    await events.write_snapshots(conn, project, packed)
    calls = {each.packed.run: each.result.events for each in to_store}
    await llm_calls.write(conn, project, calls, [each.run for each in packed if each.known])
    await _write_rows(conn, project, to_store)
    ids = [each.run for each in done]
    if changed:
        await shared_history.wake_forks(conn, project, ids, changed, max(each.row["arrived_ns"] for each in done))
    news = [each.row["news"] for each in done]
    await sql.run(conn, "forget_news", project=project, runs=ids, news=news)


async def _shared_history(conn: Conn, project: int, result: Projection | None) -> int:
    if result is None or not result.row.shared or not result.snapshots:
        return 0
    of = {"parent": runs.id_of(result.row.fork_of or ""), "upto": result.row.shared}
    return await sql.value(conn, "shared_history", project=project, **of)


def _packed(done: Iterable[_Locked], histories: Mapping[UUID, int]) -> list[_ToStore]:
    return [_pack(each, each.work.result, histories[each.run]) for each in done if each.work.result is not None]


def _pack(locked: _Locked, result: Projection, history: int) -> _ToStore:
    # A page of spans is small beside those of events as long as it is the only one. It may still change while the run
    # goes on, and then events would have to be packed again for that alone.
    ended = result.row.ended_ns is not None
    tidied = span_pages.tidy(locked.pages, locked.merged, thoroughly=ended)
    bodies = {page.number: page.body for page in locked.pages}
    if tidied is not None:
        bodies = {number: body for number, body in bodies.items() if number not in tidied.gone}
        bodies |= {-n: page.body for n, page in enumerate(tidied.pages, 1)}  # numbered when they are written
    number, body = next(iter(bodies.items())) if ended and len(bodies) == 1 else (None, None)
    beside = None if body is None else unsqueeze(body)
    pages = events.pack(result.events, beside, result.row.shared or 0)
    snapshots = events.pack_snapshots(sorted(result.snapshots, key=lambda state: state.seq), history)
    known = locked.row["projection"] > 0
    return _ToStore(locked, result, tidied, events.Packed(locked.run, known, pages, snapshots, number))


async def _tidy(conn: Conn, project: int, to_store: Iterable[_ToStore]) -> None:
    tidied = [(each, each.tidied) for each in to_store if each.tidied is not None]
    if not tidied:
        return
    gone = [number for _, each in tidied for number in each.gone]
    ids = [each.packed.run for each, _ in tidied]
    await sql.run(conn, "delete_pages", project=project, runs=ids, pages=gone)
    written = [(each.packed.run, page) for each, some in tidied for page in some.pages]
    rows = await sql.rows(
        conn,
        "write_pages",
        project=project,
        runs=[run for run, _ in written],
        digests=[page.digest for _, page in written],
        items=[page.items for _, page in written],
        bodies=[page.body for _, page in written],
    )
    numbers = {row["run_id"]: row["page"] for row in rows}
    for each, _ in tidied:
        if each.packed.beside is not None and each.packed.beside < 0:
            each.packed.beside = numbers[each.packed.run]  # the only page that the run has


async def _write_rows(conn: Conn, project: int, to_store: Sequence[_ToStore]) -> None:
    ids = [each.packed.run for each in to_store]
    waiting = {
        row["run_id"]: row["pending"] for row in await sql.rows(conn, "settle_pending", project=project, runs=ids)
    }
    numbers = await sql.column(conn, "new_projections", how_many=len(ids))
    summaries: list[Summary] = []
    for each, number in zip(to_store, numbers, strict=True):
        pending = waiting.get(each.packed.run, 0)
        row = replace(each.result.row, run=each.packed.run.hex, content_pending=pending)
        settled = each.result.settled and not pending and row.ended_ns is not None
        summaries.append(Summary(row, number, settled))
    await runs.write(conn, project, summaries)
