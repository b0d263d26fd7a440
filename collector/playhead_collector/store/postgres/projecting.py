"""[store] → projection: reads runs under their row locks for projecting, and stores the results.

Handles many runs at a time: each step is one statement for all of them. Threads are stored in transactions of their
own, because these take the locks that ingest takes. Meanwhile, no run is locked.

The history that a fork shares with its parent is stored only with the parent.
"""

import asyncio
import datetime
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from asyncpg import Record

from playhead.model.event import RunEvent
from playhead.model.message import Message, read_message
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.projection.forking import named_parent, threads_in
from playhead.projection.inputs import Parent, Projection
from playhead.projection.message_records import is_message_record, recorded_threads
from playhead.wire.pack import ThreadExtension
from playhead_collector.errors import StoreCollision
from playhead_collector.store.packing import span_pages
from playhead_collector.store.packing.span_pages import MergedSpans, RepackedPages, SpanPage
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.ports.projections import CachedRun, ProjectionCursor, RunWork
from playhead_collector.store.ports.tiers import Tier
from playhead_collector.store.postgres import (
    changes,
    content_rows,
    events,
    growing_runs,
    outcomes,
    packed_runs,
    projected_rows,
    runs,
    threads,
)
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.changes import EventsDifference, difference
from playhead_collector.store.postgres.connection import Database, begin_write
from playhead_collector.store.postgres.ingest import StoreMemory, date_of
from playhead_collector.store.postgres.packed_runs import RecordsElsewhere
from playhead_collector.store.postgres.packs import Packs, PartReader
from playhead_collector.store.postgres.runs import Summary, id_of, label
from playhead_collector.store.postgres.spans import unpack_spans
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.uses import write_llm_calls

# --- runs under their locks ------------------------------------------------------------------------------------------

# Decoding or packing more bytes than this would block the event loop: a thread does it.
_BUSY_BYTES, _BUSY_EVENTS = 16 * 1024, 100


class ThreadsNotStored(Exception):
    """Some threads have to be stored before their runs can be projected. Their messages came in several batches.

    `threads`: the messages of each thread.
    """

    def __init__(self, threads: Sequence[Sequence[ContentRef]]) -> None:
        super().__init__(f"{len(threads)} threads")
        self.threads = threads


@dataclass(slots=True)
class _Locked:
    """A run that is being projected."""

    row: Record
    pages: Sequence[SpanPage]
    merged: MergedSpans
    work: RunWork
    lineages: dict[int, int] = field(default_factory=dict[int, int])
    threads: Mapping[ContentRef, Sequence[ContentRef]] = field(default_factory=dict[ContentRef, Sequence[ContentRef]])
    """Threads whose messages are in several log records of the run: the messages of each, by the thread's ref."""
    parent: tuple[UUID, int | None] | None = None
    """For a fork: its parent, and the number of the parent's projection that was read; None if it has none."""

    @property
    def run(self) -> UUID:
        return self.row["run_id"]


@dataclass(slots=True)
class _ToStore:
    """The packed result of projecting a run."""

    locked: _Locked
    result: Projection
    repacked: RepackedPages | None
    packed: events.Packed
    pages: dict[int, int]
    """Stored pages of spans, with the number of items in each."""


# The second attempt finds the threads that the first one stored, unless more records arrived meanwhile.
_MOST_ATTEMPTS = 5


@asynccontextmanager
async def locked_runs(
    db: Database,
    memory: StoreMemory,
    project_id: int,
    ids: Sequence[UUID],
    cached: Mapping[str, CachedRun],
    *,
    wait: bool,
    now_ns: int,
) -> AsyncGenerator[Sequence[RunWork]]:
    """See `ports.projections.ProjectionStore.locked_runs`."""
    await _store_orphans(db, memory, project_id, date_of(now_ns))
    for _ in range(_MOST_ATTEMPTS):
        try:
            async with (
                db.attempt() as conn,
                lock_runs(conn, memory.packs, project_id, ids, cached, wait=wait, now_ns=now_ns) as run_works,
            ):
                yield run_works
            return
        except RecordsElsewhere as elsewhere:
            await packed_runs.bring_back(db, memory.packs.part_reader, project_id, elsewhere.runs)
        except ThreadsNotStored as missing:
            await _store_threads(db, memory, project_id, missing.threads, date_of(now_ns))
    raise StoreCollision("log records of these runs arrive faster than their threads are stored: try again")


@asynccontextmanager
async def lock_runs(
    conn: Conn,
    packs: Packs,
    project_id: int,
    ids: Sequence[UUID],
    cached: Mapping[str, CachedRun],
    *,
    wait: bool,
    now_ns: int,
) -> AsyncGenerator[Sequence[RunWork]]:
    """Yields the input of the given runs that are stored. They are locked until the transaction of `conn` ends.
    Without `wait`, runs that others have locked are left out. Of runs in `cached`, only new data is read.

    Raises ThreadsNotStored: store the threads in another transaction, which takes the locks that ingest takes, and call
    this again.

    Ingest does not wait for the lock: it notes new data in a separate row. That row is read first, so that data that
    arrives later counts as not projected, even if some of it is read here.
    """
    if wait:
        rows = await sql.rows(conn, "lock_to_project", project_id=project_id, runs=ids)
    else:
        rows = await sql.rows(conn, "lock_free_to_project", project_id=project_id, runs=ids)
    if not rows:
        yield ()
        return
    if thinned := [row["run_id"] for row in rows if row["tier"] >= Tier.COLD]:
        await packed_runs.thaw(conn, project_id, thinned)
    reader = _RunWorkReader(conn, packs, project_id)
    locked = await reader.read(rows, cached)
    if missing := [thread for entry in locked for ref, thread in entry.threads.items() if ref not in entry.work.nodes]:
        raise ThreadsNotStored(missing)
    yield [entry.work for entry in locked]
    done = [entry for entry in locked if entry.work.result is not None]
    if done:
        await _store_projections(conn, packs, project_id, done, now_ns)


async def _store_orphans(db: Database, memory: StoreMemory, project_id: int, today: datetime.date) -> None:
    """Stores waiting thread extensions whose parents have arrived."""
    async with db.reading() as conn:
        waiting = await sql.value(conn, "has_orphans", project_id=project_id)
    if waiting:
        await db.transact(
            lambda conn: threads.store_orphans(conn, memory.packs, memory.lineage_numbers, project_id, today)
        )


async def _store_threads(
    db: Database, memory: StoreMemory, project_id: int, missing: Sequence[Sequence[ContentRef]], today: datetime.date
) -> None:
    extensions = [ThreadExtension(None, tuple(messages)) for messages in missing]

    async def attempt(conn: Conn) -> None:
        write_context = await begin_write(conn, project_id)
        await threads.put(conn, memory.packs, memory.lineage_numbers, write_context, extensions, today)

    await db.transact(attempt)


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RunWorkReader:
    """Reads the input of projections of a project."""

    conn: Conn
    packs: Packs
    project_id: int

    async def read(self, rows: Sequence[Record], cached: Mapping[str, CachedRun]) -> list[_Locked]:
        """Reads each run completely, or for a run in `cached` only what is new since that state."""
        going = {row["run_id"]: entry for row in rows if (entry := _valid_cached(row, cached.get(row["run_id"].hex)))}
        ids = [row["run_id"] for row in rows]
        seen = [page for entry in going.values() for page in entry.cursor.pages]
        pages = await sql.rows(self.conn, "read_pages", project_id=self.project_id, runs=ids, seen=seen)
        unpacked = await unpack_spans(pages, ids)
        if split := {run.hex for run in going if any(map(is_message_record, unpacked[run][1].logs))}:
            # Pages that were read before may have records of the same call.
            return await self.read(rows, {run: entry for run, entry in cached.items() if run not in split})
        locked = [self._locked(row, *unpacked[row["run_id"]], going.get(row["run_id"])) for row in rows]
        wanted = [(await self._refs(entry), _lineages(entry.work.cached)) for entry in locked]
        nodes = await threads.read_many(self.conn, self.packs, self.project_id, wanted)
        for entry, run_nodes in zip(locked, nodes, strict=True):
            entry.work.nodes, entry.work.roles, entry.lineages = run_nodes.nodes, run_nodes.roles, run_nodes.lineages
        await self._look_for_missing([entry.work for entry in locked if entry.work.cached is not None])
        return locked

    def _locked(self, row: Record, pages: Sequence[SpanPage], merged: MergedSpans, cached: CachedRun | None) -> _Locked:
        work = RunWork(row["run_id"].hex, merged.spans, merged.logs, {}, {}, None, row["arrived_ns"])
        locked = _Locked(row, pages, merged, work)
        work.shared, work.cached = row["shared"], cached
        work.read = partial(_read_messages, self.conn, self.packs, self.project_id, work.messages)
        work.start_over = partial(self._start_over, locked)
        return locked

    async def _refs(self, locked: _Locked) -> set[ContentRef]:
        """Returns the refs that a run names; for a run with a kept state, only new refs and those that were missing."""
        work, row = locked.work, locked.row
        refs = span_pages.named_refs(work.spans, work.logs)
        locked.threads = recorded_threads(work.logs)
        refs |= locked.threads.keys()
        if work.cached is not None:
            return refs | work.cached.progress.missing
        if parent := parent_of(work.spans):
            number = (await _projections(self.conn, self.project_id, [parent])).get(parent)
            locked.parent = parent, number
            work.parent = await read_parent(self.conn, self.project_id, row["run_id"], parent, self.packs.part_reader)
        if row["sealed"]:
            work.sealed = await events.read(self.conn, self.project_id, work.run, after=row["shared"] or 0)
        return refs | set(threads_in(work.parent.events if work.parent else ()))

    async def _look_for_missing(self, works: Iterable[RunWork]) -> None:
        for work in works:
            missing = work.cached.progress.missing if work.cached is not None else ()
            if missing:
                work.roles = {
                    **work.roles,
                    **await content_rows.roles_of(self.conn, self.packs, self.project_id, missing),
                }

    async def _start_over(self, locked: _Locked) -> None:
        again = (await self.read([locked.row], {}))[0]
        locked.pages, locked.merged, locked.lineages = again.pages, again.merged, again.lineages
        locked.threads, locked.parent = again.threads, again.parent
        for name in ("spans", "logs", "nodes", "roles", "sealed", "parent", "cached"):
            setattr(locked.work, name, getattr(again.work, name))


def _valid_cached(row: Record, cached: CachedRun | None) -> CachedRun | None:
    """Returns the kept state; None if another process has projected the run since, or the run is sealed."""
    return (
        cached if cached is not None and cached.cursor.projection == row["projection"] and not row["sealed"] else None
    )


def _lineages(cached: CachedRun | None) -> Mapping[int, int]:
    return {} if cached is None else cached.cursor.lineages


async def _read_messages(
    conn: Conn,
    packs: Packs,
    project_id: int,
    into: dict[ContentRef, Message],
    refs: Collection[ContentRef],
) -> None:
    # The runs stay locked while the object store is asked: only few messages are read, and seldom such ones.
    contents = await packs.supplied(lambda packs: content_rows.read(conn, packs, project_id, refs))
    for ref, stored in contents.items():
        with suppress(ValueError, RecursionError):
            into[ref] = read_message(stored.data)


# --- storing ---------------------------------------------------------------------------------------------------------


async def _store_projections(conn: Conn, packs: Packs, project_id: int, done: Sequence[_Locked], now_ns: int) -> None:
    whole = [entry for entry in done if entry.work.cached is None]
    growths = [_grown_run(entry) for entry in done if entry.work.cached is not None]
    differences = await _store_whole(conn, project_id, whole) if whole else {}
    if growths:
        differences |= await growing_runs.write(conn, project_id, growths)
        await growing_runs.merge_small_pages(conn, project_id, growths)
        added = {entry.run: entry.result.events for entry in growths}
        await write_llm_calls(conn, project_id, added, [])
        await projected_rows.write_search_rows(conn, project_id, added, [])
        await projected_rows.write_scores(conn, project_id, added)
    ids = [entry.run for entry in done]
    numbers = await _write_rows(conn, packs, project_id, done)
    numbered = {run: (number, differences[run]) for run, number in numbers.items() if run in differences}
    await changes.write(conn, project_id, now_ns, numbered)
    if changed := {run: entry.first_changed for run, entry in differences.items() if entry.changes_events}:
        newest = max(entry.row["arrived_ns"] for entry in done)
        await wake_forks(conn, project_id, ids, changed, newest)
    overtaken = await _forks_with_newer_parent(conn, project_id, done)
    news = {entry.run: entry.row["news"] for entry in done if entry.run not in overtaken}
    await sql.run(conn, "forget_news", project_id=project_id, runs=list(news), news=list(news.values()))


async def _forks_with_newer_parent(conn: Conn, project_id: int, done: Iterable[_Locked]) -> set[UUID]:
    """Returns forks whose parent was projected after it had been read here. They keep their news, to be projected
    again.

    That projection could not wake a fork that it did not see: it committed before this transaction.
    """
    read = {entry.run: entry.parent for entry in done if entry.parent is not None}
    if not read:
        return set()
    now = await _projections(conn, project_id, [parent for parent, _ in read.values()])
    return {run for run, (parent, number) in read.items() if now.get(parent) != number}


async def _projections(conn: Conn, project_id: int, ids: Sequence[UUID]) -> dict[UUID, int]:
    rows = await sql.rows(conn, "projections_of", project_id=project_id, runs=ids)
    return {row["run_id"]: row["projection"] for row in rows}


def _grown_run(locked: _Locked) -> growing_runs.GrownRun:
    work = locked.work
    assert work.cached is not None and work.result is not None  # noqa: S101, PT018 - for the type checker
    cursor = work.cached.cursor
    cursor.pages |= {page.number: page.items for page in locked.pages}
    for lineage, depth in locked.lineages.items():
        cursor.lineages[lineage] = max(cursor.lineages.get(lineage, 0), depth)
    work.cached = CachedRun(work.result.progress, cursor) if work.result.progress is not None else None
    return growing_runs.GrownRun(locked.run, cursor, work.result)


async def _store_whole(conn: Conn, project_id: int, done: Sequence[_Locked]) -> dict[UUID, EventsDifference]:
    histories = {entry.run: await _shared_history(conn, project_id, entry.work.result) for entry in done}
    busy = sum(len(entry.work.result.events) for entry in done if entry.work.result) > _BUSY_EVENTS
    to_store = await asyncio.to_thread(_packed, done, histories) if busy else _packed(done, histories)
    packed = [entry.packed for entry in to_store]
    stored = await events.stored_pages(conn, project_id, packed)
    before = await events.replaced(conn, project_id, packed, stored)  # may be packed beside pages that `_tidy` deletes
    await _tidy(conn, project_id, to_store)
    await events.write(conn, project_id, packed, stored)
    await events.write_snapshots(conn, project_id, packed)
    written = {entry.packed.run: entry.result.events for entry in to_store}
    projected = [entry.run for entry in packed if entry.known]
    await write_llm_calls(conn, project_id, written, projected)
    await projected_rows.write_search_rows(conn, project_id, written, projected)
    await projected_rows.write_scores(conn, project_id, written)
    for entry in to_store:
        if entry.result.progress is not None:
            entry.locked.work.cached = CachedRun(entry.result.progress, _cursor_of(entry))
    if busy:
        return await asyncio.to_thread(_differences, to_store, stored, before)
    return _differences(to_store, stored, before)


def _differences(
    to_store: Iterable[_ToStore], stored: events.StoredPages, before: Mapping[UUID, Sequence[RunEvent]]
) -> dict[UUID, EventsDifference]:
    differences: dict[UUID, EventsDifference] = {}
    for entry in to_store:
        run, shared = entry.packed.run, entry.result.row.shared or 0
        if not stored[run]:
            last = shared + len(entry.result.events)
            differences[run] = EventsDifference(1, last, 0)
            continue
        last_before = max(page.last for page in stored[run].values())
        shared_before = min(page.first for page in stored[run].values()) - 1
        old = {event.seq: event for event in before.get(run, ())}
        differences[run] = difference(old, last_before, entry.result.events, shared, shared_before)
    return differences


def _cursor_of(stored: _ToStore) -> ProjectionCursor:
    events_of = [(page.page, page.first, page.last) for page in stored.packed.pages]
    history = len(stored.result.snapshots[-1].history) if stored.result.snapshots else 0
    return ProjectionCursor(0, stored.pages, events_of, history, stored.locked.lineages)


async def _shared_history(conn: Conn, project_id: int, result: Projection | None) -> int:
    if result is None or not result.row.shared or not result.snapshots:
        return 0
    of = {"parent": id_of(result.row.fork_of or ""), "upto": result.row.shared}
    return await sql.value(conn, "shared_history", project_id=project_id, **of)


def _packed(done: Iterable[_Locked], histories: Mapping[UUID, int]) -> list[_ToStore]:
    return [_pack(entry, entry.work.result, histories[entry.run]) for entry in done if entry.work.result is not None]


def _pack(locked: _Locked, result: Projection, history: int) -> _ToStore:
    # Events are packed beside a page of spans only if that is the run's only one. It may still change while the run
    # is open, and then the events would have to be packed again.
    ended = result.row.ended_ns is not None
    tidied = span_pages.repack(locked.pages, locked.merged, thoroughly=ended)
    bodies = {page.number: page.body for page in locked.pages}
    if tidied is not None:
        bodies = {number: body for number, body in bodies.items() if number not in tidied.gone}
        bodies |= {-n: page.body for n, page in enumerate(tidied.pages, 1)}  # numbered when they are written
    number, body = next(iter(bodies.items())) if ended and len(bodies) == 1 else (None, None)
    beside = None if body is None else decompress_json(body)
    pages = events.pack(result.events, beside, result.row.shared or 0)
    snapshots = events.pack_snapshots(sorted(result.snapshots, key=lambda state: state.seq), history)
    was_projected = locked.row["projection"] > 0
    packed = events.Packed(locked.run, was_projected, pages, snapshots, number)
    return _ToStore(locked, result, tidied, packed, {page.number: page.items for page in locked.pages})


async def _tidy(conn: Conn, project_id: int, to_store: Iterable[_ToStore]) -> None:
    tidied = [(entry, entry.repacked) for entry in to_store if entry.repacked is not None]
    if not tidied:
        return
    numbers = await growing_runs.replace_pages(
        conn, project_id, [(entry.packed.run, entry.pages, repacked) for entry, repacked in tidied]
    )
    for entry, _ in tidied:
        if entry.packed.beside is not None and entry.packed.beside < 0:
            entry.packed.beside = numbers[entry.packed.run]  # the only page that the run has


async def _settle_pending(conn: Conn, packs: Packs, project_id: int, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Returns for how many refs each run still waits."""
    settled = {"project_id": project_id, "runs": ids}
    rows = await sql.rows(conn, "settle_pending", **settled, packed=[])
    if any(row["pending"] for row in rows):
        refs = await sql.column(conn, "pending_of", **settled)
        if packed := await packs.packed_refs(conn, project_id, [ContentRef.from_digest(ref) for ref in refs]):
            rows = await sql.rows(conn, "settle_pending", **settled, packed=[ref.digest for ref in packed])
    return {row["run_id"]: row["pending"] for row in rows}


async def _write_rows(conn: Conn, packs: Packs, project_id: int, done: Sequence[_Locked]) -> dict[UUID, int]:
    """Stores the runs' rows; returns the number of each projection. From here on, transactions wait for each other."""
    ids = [entry.run for entry in done]
    waiting = await _settle_pending(conn, packs, project_id, ids)
    await sql.value(conn, "take_turns", project_id=project_id)
    numbers = await sql.column(conn, "new_projections", how_many=len(ids))
    summaries: list[Summary] = []
    for entry, number in zip(done, numbers, strict=True):
        result = entry.work.result
        if result is not None:
            row = replace(result.row, run=entry.run.hex, content_pending=waiting.get(entry.run, 0))
            settled = result.settled and not row.content_pending and row.ended_ns is not None
            summaries.append(Summary(row, number, settled))
        if entry.work.cached is not None:
            entry.work.cached.cursor.projection = number
    await runs.write(conn, project_id, summaries)
    await outcomes.write(conn, project_id, [summary.row for summary in summaries])
    if sealed := [id_of(entry.row.run) for entry in summaries if entry.row.sealed]:
        await sql.run(conn, "due_for_packing", project_id=project_id, runs=sealed)
    return dict(zip(ids, numbers, strict=True))


# --- forks -----------------------------------------------------------------------------------------------------------


def parent_of(spans: Iterable[Span]) -> UUID | None:
    """Returns the run from which a run was forked, as its spans say; None if they name none.  Pure."""
    named = named_parent(spans)
    return None if named is None else id_of(named)


async def read_parent(
    conn: Conn, project_id: int, run: UUID, parent: UUID, parts: PartReader | None = None
) -> Parent | None:
    """Returns the parent of a fork; None when the parent is not stored, or when `run` is among the parent's own
    ancestors (a circle)."""
    rows = await sql.rows(conn, "above", project_id=project_id, run=parent)
    by_id = {row["run_id"]: row for row in rows}
    if not rows or run in by_id:
        return None
    above = [by_id.pop(parent)]
    while above[-1]["shared_run"] in by_id:
        above.append(by_id.pop(above[-1]["shared_run"]))
    history = await events.read(conn, project_id, parent.hex, parts=parts)
    levels: list[Sequence[Span]] = []
    for row in above:
        pages = await sql.rows(conn, "read_pages", project_id=project_id, runs=[row["run_id"]], seen=[])
        bodies = [(page["page"], page["body"]) for page in pages]
        bodies = bodies or await packed_runs.span_bodies(conn, project_id, row["run_id"], parts)
        levels.append(await asyncio.to_thread(_valid_spans, bodies))
    return Parent(parent.hex, history, levels, above[0]["sealed"])


async def wake_forks(
    conn: Conn, project_id: int, locked: Sequence[UUID], changed: Mapping[UUID, int], now: int
) -> None:
    """Marks forks of runs in `changed` as having news if they share events from the given seq on. Also locks the news
    rows of the runs in `locked`."""
    forks = [label("fork_of", run.hex) for run in changed]
    seqs = list(changed.values())
    await sql.run(conn, "wake_forks", project_id=project_id, locked=locked, forks=forks, changed=seqs, now=now)


def _valid_spans(pages: Iterable[tuple[int, bytes]]) -> Sequence[Span]:
    return span_pages.merge([span_pages.unpack(number, body) for number, body in pages]).spans
