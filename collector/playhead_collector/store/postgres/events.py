"""projection → [store] → read: a run's events in pages, and snapshots of states.

A page of 256 events is one compressed row: 30 to 60 bytes per event, and one round trip for all pages of a query.
Projecting a run again writes only the pages that changed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, cast
from uuid import UUID

from asyncpg import Record

from playhead.model.canonical import canonical_json, parse_json
from playhead.model.event import RunEvent, event_from_json, event_to_json
from playhead.model.state import RunState, state_from_json, state_to_json
from playhead_collector.store.packing import packed_runs
from playhead_collector.store.packing.zstd import compress_json, decompress_json
from playhead_collector.store.postgres import packed_runs as stored_records
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.packed_runs import Decrypt
from playhead_collector.store.postgres.packs import PartReader
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn

PAGE_EVENTS = 256
# `PostgresEvents.pages` yields portions of this many events, with one round trip for each.
_PORTION = 4 * PAGE_EVENTS
# Unpacking more bytes than this would block the event loop: a thread does it.
_BUSY_BYTES = 16 * 1024
_LAST = 2**31 - 1
_SECOND = 1_000_000_000


class EventPage(NamedTuple):
    """A page of events in the form of its row."""

    page: int
    first: int
    last: int
    body: bytes


class Snapshot(NamedTuple):
    """A state in the form of its row, with the part of its history since the previous snapshot."""

    seq: int
    history: bytes
    body: bytes


@dataclass(slots=True)
class Packed:
    """The rows to store of a run.  `known`: the run was projected before. `beside`: the number of the page of spans
    that was the reference for compressing the events; None if there was none."""

    run: UUID
    known: bool
    pages: Sequence[EventPage]
    snapshots: Sequence[Snapshot]
    beside: int | None = None


def pack(events: Sequence[RunEvent], reference: bytes | None = None, shared: int = 0) -> list[EventPage]:
    """Packs a run's own events into pages. The events have to be numbered without gaps after the `shared` ones;
    otherwise raises ValueError. `reference`: see `compress_json`.  Pure."""
    pages: list[EventPage] = []
    if any(event.seq != seq for seq, event in enumerate(events, shared + 1)):
        raise ValueError(
            f"a run's events are numbered 1, 2, 3, ..., these from {shared + 1}: number them so before storing them"
        )
    for page, start in enumerate(range(0, len(events), PAGE_EVENTS)):
        pages += pack_page(page, events[start : start + PAGE_EVENTS], reference)
    return pages


def pack_page(number: int, events: Sequence[RunEvent], reference: bytes | None = None) -> list[EventPage]:
    """Returns a list with one page of these events; an empty list when there are no events.  Pure."""
    if not events:
        return []
    return [EventPage(number, events[0].seq, events[-1].seq, compress_json(page_json(events), reference))]


def page_json(events: Sequence[RunEvent]) -> bytes:
    """Returns the JSON of a page with these events, of which there is at least one.  Pure."""
    return canonical_json(_page_json(events))


def unpack(run: str, first: int, json: bytes, *, after: int = 0, upto: int = _LAST) -> list[RunEvent]:
    """Returns the events of a page with after < seq <= upto. Skipping an event is much faster than decoding it.
    Pure."""
    value = parse_json(json)
    time = value["base"][0] * _SECOND + value["base"][1]
    events: list[RunEvent] = []
    for seq, row in enumerate(value["events"], first):
        if isinstance(row, dict):
            if after < seq <= upto:
                events.append(event_from_json(cast(dict[str, Any], row)))
            continue
        time += row[2]
        if after < seq <= upto:
            events.append(_event(run, seq, time, row))
    return events


def pack_snapshots(states: Sequence[RunState], known_messages: int = 0) -> list[Snapshot]:
    """Packs each state with the part of its history that the previous state does not have (a history only grows).
    `known_messages`: the number of messages in the snapshots of the shared history.  Pure."""
    snapshots: list[Snapshot] = []
    for state in states:
        value = state_to_json(state)
        del value["history"]
        more = b"".join([ref.digest for ref in state.history[known_messages:]])
        snapshots.append(Snapshot(state.seq, more, compress_json(canonical_json(value))))
        known_messages = len(state.history)
    return snapshots


class StoredEventPage(NamedTuple):
    """A stored page of events without its body."""

    beside: int | None
    first: int
    last: int
    digest: bytes


StoredPages = dict[UUID, dict[int, StoredEventPage]]


async def stored_pages(conn: Conn, project_id: int, packed: Sequence[Packed]) -> StoredPages:
    """Returns the stored pages of these runs, by run and page number."""
    stored: StoredPages = {packed_run.run: {} for packed_run in packed}
    runs = _known(packed)
    if is_encrypted := await sql.cipher_of(conn, project_id) is not None:
        rows = await sql.rows(conn, "event_bodies", project_id=project_id, runs=runs)
    else:
        rows = await sql.rows(conn, "event_digests", project_id=project_id, runs=runs)
    for row in rows:
        digest = sha256(row["body"]).digest() if is_encrypted else row["digest"]
        stored[row["run_id"]][row["page"]] = StoredEventPage(row["beside"], row["first_seq"], row["last_seq"], digest)
    return stored


async def replaced(
    conn: Conn, project_id: int, packed: Sequence[Packed], stored: StoredPages
) -> dict[UUID, list[RunEvent]]:
    """Returns the stored events, in order, of all pages that `packed` replaces or deletes, by run."""
    gone: list[tuple[UUID, int]] = []
    for packed_run in packed:
        # A body does not contain its seqs: a fork's first seq is known only when its parent is.
        same = {page.page for page in packed_run.pages if _is_same(stored[packed_run.run].get(page.page), page)}
        gone += [(packed_run.run, page) for page in stored[packed_run.run] if page not in same]
    if not gone:
        return {}
    columns = {"runs": [run for run, _ in gone], "pages": [page for _, page in gone]}
    rows = await sql.rows(conn, "read_pages_of_events", project_id=project_id, **columns)
    if sum(len(row["body"]) for row in rows) > _BUSY_BYTES:
        return await asyncio.to_thread(_unpacked, rows)
    return _unpacked(rows)


def _unpacked(rows: Sequence[Record]) -> dict[UUID, list[RunEvent]]:
    by_run: dict[UUID, list[RunEvent]] = {}
    for row in sorted(rows, key=lambda row: row["first_seq"]):
        by_run.setdefault(row["run_id"], []).extend(unpack(row["run_id"].hex, row["first_seq"], _json(row)))
    return by_run


async def write(conn: Conn, project_id: int, packed: Sequence[Packed], stored: StoredPages) -> None:
    """Replaces the pages of these runs, of which `stored` exist now."""
    gone = {run: set(pages) for run, pages in stored.items()}
    written: list[tuple[UUID, int | None, EventPage]] = []
    for packed_run in packed:
        for page in packed_run.pages:
            gone[packed_run.run].discard(page.page)
            there = stored[packed_run.run].get(page.page)
            if there is None or there.beside != packed_run.beside or not _is_same(there, page):
                written.append((packed_run.run, packed_run.beside, page))
    await write_pages(conn, project_id, written)
    await delete_pages(conn, project_id, [(run, page) for run, pages in gone.items() for page in pages])


async def write_pages(conn: Conn, project_id: int, pages: Sequence[tuple[UUID, int | None, EventPage]]) -> None:
    """Stores pages of runs. Each is given as (run, number of the page of spans that was its reference, page)."""
    if pages:
        await sql.run(
            conn,
            "write_event_pages",
            project_id=project_id,
            runs=[run for run, _, _ in pages],
            besides=[reference for _, reference, _ in pages],
            pages=[page.page for _, _, page in pages],
            firsts=[page.first for _, _, page in pages],
            lasts=[page.last for _, _, page in pages],
            bodies=[page.body for _, _, page in pages],
        )


async def delete_pages(conn: Conn, project_id: int, pages: Sequence[tuple[UUID, int]]) -> None:
    """Deletes pages of events, given as (run, number)."""
    if pages:
        columns = {"runs": [run for run, _ in pages], "pages": [page for _, page in pages]}
        await sql.run(conn, "delete_event_pages", project_id=project_id, **columns)


def _is_same(stored: StoredEventPage | None, page: EventPage) -> bool:
    return stored is not None and (stored.first, stored.digest) == (page.first, sha256(page.body).digest())


def _known(packed: Sequence[Packed]) -> list[UUID]:
    """Returns the runs that were projected before. Other runs have no rows."""
    return [packed_run.run for packed_run in packed if packed_run.known]


async def write_snapshots(conn: Conn, project_id: int, packed: Sequence[Packed]) -> None:
    """Replaces the snapshots of these runs."""
    stored = await _stored_snapshots(conn, project_id, _known(packed))
    changed = [
        (packed_run.run, state)
        for packed_run in packed
        for state in packed_run.snapshots
        if stored.pop((packed_run.run, state.seq), None) != sha256(state.history + state.body).digest()
    ]
    await add_snapshots(conn, project_id, changed)
    if stored:
        columns = {"runs": [run for run, _ in stored], "seqs": [seq for _, seq in stored]}
        await sql.run(conn, "delete_snapshots", project_id=project_id, **columns)


async def _stored_snapshots(conn: Conn, project_id: int, runs: Sequence[UUID]) -> dict[tuple[UUID, int], bytes]:
    """Returns the digests of the snapshots of these runs."""
    if await sql.cipher_of(conn, project_id) is None:
        rows = await sql.rows(conn, "snapshot_digests", project_id=project_id, runs=runs)
        return {(row["run_id"], row["seq"]): row["digest"] for row in rows}
    rows = await sql.rows(conn, "snapshot_bodies", project_id=project_id, runs=runs)
    return {(row["run_id"], row["seq"]): sha256(row["history"] + row["body"]).digest() for row in rows}


async def add_snapshots(conn: Conn, project_id: int, states: Sequence[tuple[UUID, Snapshot]]) -> None:
    """Stores snapshots of runs."""
    if states:
        await sql.run(
            conn,
            "write_snapshots",
            project_id=project_id,
            runs=[run for run, _ in states],
            seqs=[state.seq for _, state in states],
            histories=[state.history for _, state in states],
            bodies=[state.body for _, state in states],
        )


class DecodedPages:
    """The pages that were read last, decoded: questions about a run read all of it one after the other.

    A page is found by its bytes, so that one that was projected anew is decoded anew.  Only full pages that are read
    whole are kept, at most `most`: 128 pages take 25 MB.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._pages: OrderedDict[tuple[str, int, bytes, bytes], Sequence[RunEvent]] = OrderedDict()

    def events(self, page: "ReadPage") -> Sequence[RunEvent]:
        """Returns the events of a page with low < seq <= high, in order."""
        if page.low >= page.first or page.high < page.first + PAGE_EVENTS - 1:
            return _decoded(page)
        key = (page.run, page.first, sha256(page.body).digest(), sha256(page.beside or b"").digest())
        found = self._pages.get(key)
        if found is None:
            found = _decoded(page)
            if len(found) < PAGE_EVENTS:
                return found
            self._pages[key] = found
            if len(self._pages) > self._most:
                self._pages.popitem(last=False)
        self._pages.move_to_end(key)
        return found


class ReadPage(NamedTuple):
    """A page of events of which those with low < seq <= high are wanted. `body` is compressed, perhaps beside another
    body; `is_plain`: it is not (that of a thinned run)."""

    run: str
    first: int
    low: int
    high: int
    body: bytes
    beside: bytes | None = None
    is_plain: bool = False

    @property
    def json(self) -> bytes:
        """The JSON of the page."""
        if self.is_plain:
            return self.body
        return decompress_json(self.body, None if self.beside is None else decompress_json(self.beside))


async def _read_pages(rows: Sequence[Record], parts: PartReader | None, decrypt: Decrypt) -> list[ReadPage]:
    """Returns the pages in these rows of `read_event_pages`, in the order of their events: those of thinned runs are
    all in one row. `parts` reads those that are in the object store, and `decrypt` decrypts them."""
    pages: list[ReadPage] = []
    for row, body in zip(rows, await stored_records.bodies(parts, rows, decrypt), strict=True):
        run, low, high = row["run_id"].hex, row["low"], row["high"]
        if row["first_seq"]:
            pages.append(ReadPage(run, row["first_seq"], low, high, body, row["beside"]))
            continue
        record = (
            packed_runs.decode(body) if len(body) <= _BUSY_BYTES else await asyncio.to_thread(packed_runs.decode, body)
        )
        wanted = (page for page in record.events if page.last > low and page.first <= high)
        pages += [ReadPage(run, page.first, low, high, page.json, is_plain=True) for page in wanted]
    return sorted(pages, key=lambda page: page.first)


def _decoded(page: ReadPage) -> list[RunEvent]:
    return unpack(page.run, page.first, page.json, after=page.low, upto=page.high)


async def read(
    conn: Conn,
    project_id: int,
    run: str,
    *,
    after: int = 0,
    upto: int | None = None,
    limit: int | None = None,
    parts: PartReader | None = None,
) -> list[RunEvent]:
    """Returns events with after < seq <= upto, in order, at most `limit`. The events that a fork shares with its parent
    come first. `parts` reads the object store."""
    rows = await _page_rows(conn, project_id, run, after, upto, limit)
    decrypt = await stored_records.decryption_of(conn, project_id, rows)
    return _events_in(await _read_pages(rows, parts, decrypt), limit, None)


async def _page_rows(
    conn: Conn, project_id: int, run: str, after: int, upto: int | None, limit: int | None
) -> Sequence[Record]:
    last = _LAST if upto is None else upto
    return await sql.rows(
        conn,
        "read_event_pages",
        project_id=project_id,
        run=id_of(run),
        after=after,
        upto=last,
        how_many=_LAST if limit is None else limit,
    )


def _events_in(pages: Sequence[ReadPage], limit: int | None, decoded: DecodedPages | None) -> list[RunEvent]:
    events: list[RunEvent] = []
    for page in pages:
        events += _decoded(page) if decoded is None else decoded.events(page)
        if limit is not None and len(events) >= limit:
            break
    return events[:limit]


class PostgresEvents:
    """Implements `ports.events.EventReader`. `kept_pages`: see `DecodedPages`; 0 keeps none. `parts` reads the object
    store."""

    def __init__(self, db: Database, kept_pages: int = 0, parts: PartReader | None = None) -> None:
        self._db = db
        self._parts = parts
        self._decoded = DecodedPages(kept_pages) if kept_pages else None

    async def read(
        self, project_id: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        async with self._db.reading() as conn:
            rows = await _page_rows(conn, project_id, run, after, upto, limit)
            decrypt = await stored_records.decryption_of(conn, project_id, rows)
        return _events_in(await _read_pages(rows, self._parts, decrypt), limit, self._decoded)

    async def pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        while portion := await self.read(project_id, run, after=after, limit=_PORTION):
            yield portion
            after = portion[-1].seq

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        # Searches all pages: 2 ms for 5,000 events.
        async with self._db.reading() as conn:
            rows = await sql.rows(
                conn, "read_event_pages", project_id=project_id, run=id_of(run), after=0, upto=_LAST, how_many=_LAST
            )
            decrypt = await stored_records.decryption_of(conn, project_id, rows)
        return _seq_in(await _read_pages(rows, self._parts, decrypt), event_id)

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "read_snapshot", project_id=project_id, run=id_of(run), seq=min(seq, _LAST))
        if not rows:
            return None
        history = b"".join(row["history"] for row in rows).hex()
        refs = ["sha256:" + history[start : start + 64] for start in range(0, len(history), 64)]
        return state_from_json({**parse_json(decompress_json(rows[-1]["body"])), "history": refs})


def _seq_in(pages: Sequence[ReadPage], event_id: str) -> int | None:
    # Almost every id begins with its span's id, which is in the page literally: searching is faster than parsing JSON.
    span = event_id.partition(".")[0]
    sought = span.encode() if span.isascii() and span.isalnum() else b""
    for page in pages:
        json = page.json
        if sought not in json:
            continue
        for seq, event in enumerate(parse_json(json)["events"], page.first):
            candidate = str(event["id"]) if isinstance(event, dict) else _id(event[1], event[3], event[0])  # pyright: ignore[reportUnknownArgumentType]
            if candidate != event_id and not candidate.startswith(f"{event_id}."):
                continue
            if page.low < seq <= page.high:
                return seq
    return None


def _json(row: Record) -> bytes:
    reference = row["beside"]
    return decompress_json(row["body"], None if reference is None else decompress_json(reference))


# --- the JSON of a page: {"base": [seconds, ns], "events": [[kind, id, ns after, span, actor, late, data, refs]]} -----
# Fields that can be computed are left out: run, seq, priority, and an id of the form `<span>.<kind>.<number>`. An event
# of an unknown kind is an object instead of a list: the event as it came.


def _page_json(events: Sequence[RunEvent]) -> dict[str, Any]:
    time = events[0].time_ns
    base = list(divmod(time, _SECOND))
    rows: list[Any] = []
    for event in events:
        value = event_to_json(event)
        if "data" not in value or "refs" not in value or type(event).kind == "":
            rows.append(value)
            continue
        kind = value["kind"]
        span = event.span or ""
        actor = False if event.actor is None else event.actor
        ordinal = _ordinal(event.id, span, kind)
        rows.append([kind, ordinal, event.time_ns - time, span, actor, event.late, value["data"], value["refs"]])
        time = event.time_ns
    return {"base": base, "events": rows}


def _event(run: str, seq: int, time_ns: int, row: list[Any]) -> RunEvent:
    kind, ordinal, _, span, actor, late, data, refs = row
    value: dict[str, Any] = {"id": _id(ordinal, span, kind), "run": run, "seq": seq, "time_ns": time_ns, "kind": kind}
    if span:
        value["span"] = span
    if actor is not False:
        value["actor"] = actor
    if late:
        value["late"] = True
    value["data"], value["refs"] = data, refs
    return event_from_json(value)


def _ordinal(event_id: str, span: str, kind: str) -> int | str:
    start = f"{span}.{kind}."
    number = event_id.removeprefix(start)
    return int(number) if event_id.startswith(start) and number.isdecimal() and str(int(number)) == number else event_id


def _id(ordinal: int | str, span: str, kind: str) -> str:
    return ordinal if isinstance(ordinal, str) else f"{span}.{kind}.{ordinal}"
