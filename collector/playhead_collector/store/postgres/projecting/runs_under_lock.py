"""[store] → project: reads runs under their row locks for projecting, and stores the results.

Handles many runs at a time: each step is one statement for all of them.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from asyncpg import Record

from playhead.model.event import RunEvent
from playhead.model.message import Message, read_message
from playhead.model.ref import ContentRef
from playhead.project.forking import threads_in
from playhead.project.inputs import Projection
from playhead.project.logs.message_records import is_message_record, recorded_threads
from playhead_collector.store.packing import span_pages
from playhead_collector.store.packing.span_pages import MergedSpans, RepackedPages, SpanPage
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.ports import Footing, Kept, RunWork, StoredPage
from playhead_collector.store.postgres import content, events, llm_calls, runs, shared_history, threads
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.across import recorded_scores
from playhead_collector.store.postgres.changes import journal
from playhead_collector.store.postgres.changes.difference import EventsDifference, difference
from playhead_collector.store.postgres.projecting import growing, search_rows
from playhead_collector.store.postgres.runs import Summary
from playhead_collector.store.postgres.sealed.packs import Packs
from playhead_collector.store.postgres.statements import Conn

# Decoding or packing more bytes than this would block the event loop: a thread does it.
_BUSY_BYTES, _BUSY_EVENTS = 16 * 1024, 100


class ThreadsNotStored(Exception):
    """Threads of messages that came in several batches have to be stored before their runs can be projected.

    `threads`: the messages of each.
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
    """Threads that the run's log records make together: the messages of each."""
    parent: tuple[UUID, int | None] | None = None
    """Of a fork: the run that it was made from, and the projection of that run which was read."""

    @property
    def run(self) -> UUID:
        return self.row["run_id"]


@dataclass(slots=True)
class _ToStore:
    """The packed result of projecting a run."""

    locked: _Locked
    result: Projection
    tidied: RepackedPages | None
    packed: events.Packed
    pages: dict[int, int]
    """Stored pages of spans, with the number of items in each."""


@asynccontextmanager
async def working(
    conn: Conn,
    packs: Packs,
    project_id: int,
    asked: Sequence[UUID],
    kept: Mapping[str, Kept],
    *,
    wait: bool,
    now_ns: int,
) -> AsyncGenerator[Sequence[RunWork]]:
    """The stored ones of these runs, locked until the transaction of `conn` ends. Without `wait`, runs that others have
    locked are left out. Of runs in `kept`, only new data is read.

    Raises ThreadsNotStored: store them in another transaction, which locks what ingest locks, and call this again.

    Ingest does not wait: it notes new data in a separate row. That row is read first, so that data that arrives later
    counts as not projected, even if some of it is read here.
    """
    if wait:
        rows = await sql.rows(conn, "lock_to_project", project_id=project_id, runs=asked)
    else:
        rows = await sql.rows(conn, "lock_free_to_project", project_id=project_id, runs=asked)
    if not rows:
        yield ()
        return
    reader = _RunReader(conn, packs, project_id)
    locked = await reader.read(rows, kept)
    if missing := [thread for each in locked for ref, thread in each.threads.items() if ref not in each.work.nodes]:
        raise ThreadsNotStored(missing)
    yield [each.work for each in locked]
    done = [each for each in locked if each.work.result is not None]
    if done:
        await _store(conn, packs, project_id, done, now_ns)


async def read_spans(conn: Conn, project_id: int, run: UUID) -> MergedSpans:
    """The valid versions of all spans and log events of a run."""
    rows = await sql.rows(conn, "read_pages", project_id=project_id, runs=[run], seen=[])
    return (await _unpacked(rows, [run]))[run][1]


async def read_span_pages(conn: Conn, project_id: int, run: UUID, after: int, limit: int) -> list[StoredPage]:
    """Pages of a run with a number > `after`, by number, each with one version of each of its items."""
    rows = await sql.rows(conn, "read_pages_after", project_id=project_id, run=run, after=after, how_many=limit)

    def unpacked() -> list[StoredPage]:
        merged = [(row["page"], span_pages.merge([span_pages.unpack(row["page"], row["body"])])) for row in rows]
        return [StoredPage(number, each.spans, each.logs) for number, each in merged]

    return await asyncio.to_thread(unpacked)


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RunReader:
    """Reads runs of a project."""

    conn: Conn
    packs: Packs
    project_id: int

    async def read(self, rows: Sequence[Record], kept: Mapping[str, Kept]) -> list[_Locked]:
        """Reads each run, or only what is new since it was `kept`."""
        going = {row["run_id"]: each for row in rows if (each := _valid(row, kept.get(row["run_id"].hex)))}
        ids = [row["run_id"] for row in rows]
        seen = [page for each in going.values() for page in each.footing.pages]
        pages = await sql.rows(self.conn, "read_pages", project_id=self.project_id, runs=ids, seen=seen)
        unpacked = await _unpacked(pages, ids)
        if split := {run.hex for run in going if any(map(is_message_record, unpacked[run][1].logs))}:
            # Records of the same call may be among what was read before.
            return await self.read(rows, {run: each for run, each in kept.items() if run not in split})
        locked = [self._locked(row, *unpacked[row["run_id"]], going.get(row["run_id"])) for row in rows]
        wanted = [(await self._refs(each), _lineages(each.work.kept)) for each in locked]
        nodes = await threads.read_many(self.conn, self.packs, self.project_id, wanted)
        for each, found in zip(locked, nodes, strict=True):
            each.work.nodes, each.work.roles, each.lineages = found.nodes, found.roles, found.lineages
        await self._look_for_missing([each.work for each in locked if each.work.kept is not None])
        return locked

    def _locked(self, row: Record, pages: Sequence[SpanPage], merged: MergedSpans, kept: Kept | None) -> _Locked:
        work = RunWork(row["run_id"].hex, merged.spans, merged.logs, {}, {}, None, row["arrived_ns"])
        locked = _Locked(row, pages, merged, work)
        work.shared, work.kept = row["shared"], kept
        work.read = partial(_read_messages, self.conn, self.packs, self.project_id, work.messages)
        work.start_over = partial(self._start_over, locked)
        return locked

    async def _refs(self, locked: _Locked) -> set[ContentRef]:
        """Refs that a run names; for a kept run, only new ones and those that were missing."""
        work, row = locked.work, locked.row
        refs = span_pages.named_refs(work.spans, work.logs)
        locked.threads = recorded_threads(work.logs)
        refs |= locked.threads.keys()
        if work.kept is not None:
            return refs | work.kept.progress.missing
        if parent := shared_history.parent_of(work.spans):
            number = (await _projections(self.conn, self.project_id, [parent])).get(parent)
            locked.parent = parent, number
            work.parent = await shared_history.read_parent(self.conn, self.project_id, row["run_id"], parent)
        if row["sealed"]:
            work.sealed = await events.read(self.conn, self.project_id, work.run, after=row["shared"] or 0)
        return refs | set(threads_in(work.parent.events if work.parent else ()))

    async def _look_for_missing(self, works: Iterable[RunWork]) -> None:
        for work in works:
            missing = work.kept.progress.missing if work.kept is not None else ()
            if missing:
                work.roles = {**work.roles, **await content.roles_of(self.conn, self.packs, self.project_id, missing)}

    async def _start_over(self, locked: _Locked) -> None:
        again = (await self.read([locked.row], {}))[0]
        locked.pages, locked.merged, locked.lineages = again.pages, again.merged, again.lineages
        locked.threads, locked.parent = again.threads, again.parent
        for name in ("spans", "logs", "nodes", "roles", "sealed", "parent", "kept"):
            setattr(locked.work, name, getattr(again.work, name))


def _valid(row: Record, kept: Kept | None) -> Kept | None:
    """The kept state, unless another process has projected the run since."""
    return kept if kept is not None and kept.footing.projection == row["projection"] and not row["sealed"] else None


def _lineages(kept: Kept | None) -> Mapping[int, int]:
    return {} if kept is None else kept.footing.lineages


async def _unpacked(rows: Sequence[Record], ids: Iterable[UUID]) -> dict[UUID, tuple[list[SpanPage], MergedSpans]]:
    if sum(len(row["body"]) for row in rows) > _BUSY_BYTES:
        return await asyncio.to_thread(_unpack, rows, ids)
    return _unpack(rows, ids)


def _unpack(rows: Sequence[Record], ids: Iterable[UUID]) -> dict[UUID, tuple[list[SpanPage], MergedSpans]]:
    pages: dict[UUID, list[SpanPage]] = {run: [] for run in ids}
    for row in rows:
        pages[row["run_id"]].append(span_pages.unpack(row["page"], row["body"]))
    return {run: (some, span_pages.merge(some)) for run, some in pages.items()}


async def _read_messages(
    conn: Conn,
    packs: Packs,
    project_id: int,
    into: dict[ContentRef, Message],
    refs: Collection[ContentRef],
) -> None:
    for ref, found in (await content.read(conn, packs, project_id, refs)).items():
        with suppress(ValueError, RecursionError):
            into[ref] = read_message(found.data)


# --- storing ----------------------------------------------------------------------------------------------------------


async def _store(conn: Conn, packs: Packs, project_id: int, done: Sequence[_Locked], now_ns: int) -> None:
    whole = [each for each in done if each.work.kept is None]
    growths = [_growth(each) for each in done if each.work.kept is not None]
    found = await _store_whole(conn, project_id, whole) if whole else {}
    if growths:
        found |= await growing.write(conn, project_id, growths)
        await growing.tidy(conn, project_id, growths)
        added = {each.run: each.result.events for each in growths}
        await llm_calls.write(conn, project_id, added, [])
        await search_rows.write(conn, project_id, added, [])
        await recorded_scores.write(conn, project_id, added)
    ids = [each.run for each in done]
    numbers = await _write_rows(conn, packs, project_id, done)
    numbered = {run: (number, found[run]) for run, number in numbers.items() if run in found}
    await journal.write(conn, project_id, now_ns, numbered)
    if changed := {run: each.first_changed for run, each in found.items() if each.changes_events}:
        newest = max(each.row["arrived_ns"] for each in done)
        await shared_history.wake_forks(conn, project_id, ids, changed, newest)
    overtaken = await _overtaken(conn, project_id, done)
    news = {each.run: each.row["news"] for each in done if each.run not in overtaken}
    await sql.run(conn, "forget_news", project_id=project_id, runs=list(news), news=list(news.values()))


async def _overtaken(conn: Conn, project_id: int, done: Iterable[_Locked]) -> set[UUID]:
    """Forks whose parent was projected after it had been read here. They keep their news, to be projected again.

    That projection could not wake a fork that it did not see: it committed before this transaction.
    """
    read = {each.run: each.parent for each in done if each.parent is not None}
    if not read:
        return set()
    now = await _projections(conn, project_id, [parent for parent, _ in read.values()])
    return {run for run, (parent, number) in read.items() if now.get(parent) != number}


async def _projections(conn: Conn, project_id: int, ids: Sequence[UUID]) -> dict[UUID, int]:
    rows = await sql.rows(conn, "projections_of", project_id=project_id, runs=ids)
    return {row["run_id"]: row["projection"] for row in rows}


def _growth(locked: _Locked) -> growing.Growth:
    work = locked.work
    assert work.kept is not None and work.result is not None  # noqa: S101, PT018 - for the type checker
    footing = work.kept.footing
    footing.pages |= {page.number: page.items for page in locked.pages}
    for lineage, depth in locked.lineages.items():
        footing.lineages[lineage] = max(footing.lineages.get(lineage, 0), depth)
    work.kept = Kept(work.result.progress, footing) if work.result.progress is not None else None
    return growing.Growth(locked.run, footing, work.result)


async def _store_whole(conn: Conn, project_id: int, done: Sequence[_Locked]) -> dict[UUID, EventsDifference]:
    histories = {each.run: await _shared_history(conn, project_id, each.work.result) for each in done}
    busy = sum(len(each.work.result.events) for each in done if each.work.result) > _BUSY_EVENTS
    to_store = await asyncio.to_thread(_packed, done, histories) if busy else _packed(done, histories)
    packed = [each.packed for each in to_store]
    stored = await events.stored_pages(conn, project_id, packed)
    before = await events.replaced(conn, project_id, packed, stored)  # may be packed beside pages that `_tidy` deletes
    await _tidy(conn, project_id, to_store)
    await events.write(conn, project_id, packed, stored)
    await events.write_snapshots(conn, project_id, packed)
    written = {each.packed.run: each.result.events for each in to_store}
    known = [each.run for each in packed if each.known]
    await llm_calls.write(conn, project_id, written, known)
    await search_rows.write(conn, project_id, written, known)
    await recorded_scores.write(conn, project_id, written)
    for each in to_store:
        if each.result.progress is not None:
            each.locked.work.kept = Kept(each.result.progress, _footing(each))
    if busy:
        return await asyncio.to_thread(_differences, to_store, stored, before)
    return _differences(to_store, stored, before)


def _differences(
    to_store: Iterable[_ToStore], stored: events.StoredPages, before: Mapping[UUID, Sequence[RunEvent]]
) -> dict[UUID, EventsDifference]:
    found: dict[UUID, EventsDifference] = {}
    for each in to_store:
        run, shared = each.packed.run, each.result.row.shared or 0
        if not stored[run]:
            last = shared + len(each.result.events)
            found[run] = EventsDifference(1, last, 0)
            continue
        known = max(page.last for page in stored[run].values())
        shared_before = min(page.first for page in stored[run].values()) - 1
        old = {event.seq: event for event in before.get(run, ())}
        found[run] = difference(old, known, each.result.events, shared, shared_before)
    return found


def _footing(stored: _ToStore) -> Footing:
    events_of = [(page.page, page.first, page.last) for page in stored.packed.pages]
    history = len(stored.result.snapshots[-1].history) if stored.result.snapshots else 0
    return Footing(0, stored.pages, events_of, history, stored.locked.lineages)


async def _shared_history(conn: Conn, project_id: int, result: Projection | None) -> int:
    if result is None or not result.row.shared or not result.snapshots:
        return 0
    of = {"parent": runs.id_of(result.row.fork_of or ""), "upto": result.row.shared}
    return await sql.value(conn, "shared_history", project_id=project_id, **of)


def _packed(done: Iterable[_Locked], histories: Mapping[UUID, int]) -> list[_ToStore]:
    return [_pack(each, each.work.result, histories[each.run]) for each in done if each.work.result is not None]


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
    known = locked.row["projection"] > 0
    packed = events.Packed(locked.run, known, pages, snapshots, number)
    return _ToStore(locked, result, tidied, packed, {page.number: page.items for page in locked.pages})


async def _tidy(conn: Conn, project_id: int, to_store: Iterable[_ToStore]) -> None:
    tidied = [(each, each.tidied) for each in to_store if each.tidied is not None]
    if not tidied:
        return
    numbers = await growing.rewrite(conn, project_id, [(each.packed.run, each.pages, some) for each, some in tidied])
    for each, _ in tidied:
        if each.packed.beside is not None and each.packed.beside < 0:
            each.packed.beside = numbers[each.packed.run]  # the only page that the run has


async def _settle_pending(conn: Conn, packs: Packs, project_id: int, ids: Sequence[UUID]) -> dict[UUID, int]:
    """The number of refs that each run still waits for."""
    settled = {"project_id": project_id, "runs": ids}
    rows = await sql.rows(conn, "settle_pending", **settled, packed=[])
    if any(row["pending"] for row in rows):
        refs = await sql.column(conn, "pending_of", **settled)
        if packed := await packs.held(conn, project_id, [ContentRef.from_digest(ref) for ref in refs]):
            rows = await sql.rows(conn, "settle_pending", **settled, packed=[ref.digest for ref in packed])
    return {row["run_id"]: row["pending"] for row in rows}


async def _write_rows(conn: Conn, packs: Packs, project_id: int, done: Sequence[_Locked]) -> dict[UUID, int]:
    """Stores the runs' rows; returns the number of each projection. From here on, transactions wait for each other."""
    ids = [each.run for each in done]
    waiting = await _settle_pending(conn, packs, project_id, ids)
    await sql.value(conn, "take_turns", project_id=project_id)
    numbers = await sql.column(conn, "new_projections", how_many=len(ids))
    summaries: list[Summary] = []
    for each, number in zip(done, numbers, strict=True):
        result = each.work.result
        if result is not None:
            row = replace(result.row, run=each.run.hex, content_pending=waiting.get(each.run, 0))
            settled = result.settled and not row.content_pending and row.ended_ns is not None
            summaries.append(Summary(row, number, settled))
        if each.work.kept is not None:
            each.work.kept.footing.projection = number
    await runs.write(conn, project_id, summaries)
    if sealed := [runs.id_of(each.row.run) for each in summaries if each.row.sealed]:
        await sql.run(conn, "due_for_packing", project_id=project_id, runs=sealed)
    return dict(zip(ids, numbers, strict=True))
