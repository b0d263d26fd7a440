"""[store]: records of thinned runs: read from their rows or the object store, packed, and put back into rows.

The body of a record is in its row of `packed_run` or in the object store. Functions that read bodies take `parts`,
which reads the object store; None: there is none.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead_collector.errors import ObjectStoreUnavailable
from playhead_collector.store.packing import packed_runs
from playhead_collector.store.packing.packed_runs import PlainEventPage, PlainSnapshot, PlainSpanPage, WholeRecord
from playhead_collector.store.packing.zstd import compress_json, decompress_json
from playhead_collector.store.ports.objects import PartLocation
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.packs import Packs, PartReader, decryption, location_of
from playhead_collector.store.postgres.statements import Conn

PURPOSE = "packed_run"
"""What bodies are encrypted for, in a project that is encrypted."""
_REF = re.compile(rb"sha256:([0-9a-f]{64})")


@dataclass(slots=True)
class StoredRecord:
    """The record of a run. `size`: the bytes that it takes, compressed. `pages`: numbers of its rows in `span_page`.
    `packed`: it has a row in `packed_run`."""

    record: WholeRecord = field(default_factory=WholeRecord)
    size: int = 0
    pages: list[int] = field(default_factory=list[int])
    packed: bool = False

    @property
    def named(self) -> set[bytes]:
        """Digests of all that looks like a ref in the record, histories of snapshots included."""
        found = {bytes.fromhex(match[1].decode()) for text in self.record.texts() for match in _REF.finditer(text)}
        for state in self.record.snapshots:
            found.update(packed_runs.digests_of(state.history))
        return found


class RecordsElsewhere(Exception):
    """Records are in the object store that are needed in rows: call `bring_back` without a connection, and repeat."""

    def __init__(self, runs: Sequence[UUID]) -> None:
        super().__init__(f"{len(runs)} records")
        self.runs = runs


Decrypt: TypeAlias = Callable[[bytes], bytes]


async def decryption_of(conn: Conn, project_id: int, rows: Sequence[Record]) -> Decrypt:
    """Returns the function that decrypts what `bodies` reads of the object store for these rows."""
    if all(row["body"] is not None for row in rows):
        return bytes
    return await decryption(conn, project_id, PURPOSE)


async def bodies(parts: PartReader | None, rows: Sequence[Record], decrypt: Decrypt) -> list[bytes]:
    """Returns the bodies of these rows of `packed_run`. Hold no connection if one of them has none. Raises
    ObjectStoreUnavailable, ContentCorrupt, CannotDecrypt."""
    places = [None if row["body"] is not None else location_of(row) for row in rows]
    wanted = [place for place in places if place is not None]
    found: Mapping[PartLocation, bytes] = await _fetched(parts, wanted) if wanted else {}
    return [row["body"] if place is None else decrypt(found[place]) for row, place in zip(rows, places, strict=True)]


async def _fetched(parts: PartReader | None, wanted: Sequence[PartLocation]) -> Mapping[PartLocation, bytes]:
    if parts is None:
        raise ObjectStoreUnavailable("records are in an object store, and none is set: set PLAYHEAD_OBJECT_STORE")
    return await parts.read_parts(wanted)


async def bring_back(db: Database, parts: PartReader | None, project_id: int, runs: Sequence[UUID]) -> None:
    """Reads the bodies of these records from the object store into their rows. Raises ObjectStoreUnavailable."""
    async with db.reading() as conn:
        rows = [row for row in await _packed_rows(conn, project_id, runs) if row["body"] is None]
    for row, body in zip(rows, await bodies(parts, rows, bytes), strict=True):
        async with db.transaction() as conn:
            await sql.run(conn, "bring_back", project_id=project_id, run=row["run_id"], object=row["object"], body=body)


async def _packed_rows(conn: Conn, project_id: int, runs: Sequence[UUID]) -> Sequence[Record]:
    return await sql.rows(conn, "packed_rows", project_id=project_id, runs=runs)


async def read_records(conn: Conn, project_id: int, runs: Sequence[UUID]) -> dict[UUID, StoredRecord]:
    """Returns the records of these runs. Call it under the locks of the runs. Raises RecordsElsewhere."""
    span_rows = await sql.rows(conn, "span_rows", project_id=project_id, runs=runs)
    event_rows = await sql.rows(conn, "event_rows", project_id=project_id, runs=runs)
    snapshot_rows = await sql.rows(conn, "snapshot_rows", project_id=project_id, runs=runs)
    packed_rows = await _packed_rows(conn, project_id, runs)
    _check_here(packed_rows)
    return await asyncio.to_thread(_records, runs, span_rows, event_rows, snapshot_rows, packed_rows)


def _records(
    runs: Iterable[UUID],
    span_rows: Iterable[Record],
    event_rows: Iterable[Record],
    snapshot_rows: Iterable[Record],
    packed_rows: Iterable[Record],
) -> dict[UUID, StoredRecord]:
    found = {run: StoredRecord() for run in runs}
    for row in packed_rows:
        found[row["run_id"]] = StoredRecord(packed_runs.decode(row["body"]), len(row["body"]), packed=True)
    for row in span_rows:
        entry = found[row["run_id"]]
        entry.record.spans.append(PlainSpanPage(row["page"], row["digest"], row["items"], decompress_json(row["body"])))
        entry.pages.append(row["page"])
        entry.size += len(row["body"])
    for row in event_rows:
        entry, beside = found[row["run_id"]], row["beside"]
        json = decompress_json(row["body"], None if beside is None else decompress_json(beside))
        entry.record.events.append(PlainEventPage(row["page"], row["first_seq"], row["last_seq"], json))
        entry.size += len(row["body"])
    for row in snapshot_rows:
        entry = found[row["run_id"]]
        entry.record.snapshots.append(PlainSnapshot(row["seq"], row["history"], decompress_json(row["body"])))
        entry.size += len(row["history"]) + len(row["body"])
    return found


async def thaw(conn: Conn, project_id: int, runs: Sequence[UUID]) -> None:
    """Puts the records of these runs, and of those above them whose events they share, back into rows. Call it under
    the locks of the runs. Runs that are not packed stay as they are. Raises RecordsElsewhere."""
    above = [row["run_id"] for run in runs for row in await sql.rows(conn, "above", project_id=project_id, run=run)]
    every = list(dict.fromkeys([*runs, *above]))
    rows = await _packed_rows(conn, project_id, every)
    if not rows:
        return
    _check_here(rows)
    records = await asyncio.to_thread(lambda: {row["run_id"]: packed_runs.decode(row["body"]) for row in rows})
    await _restore(conn, project_id, records)
    await sql.run(conn, "delete_packed", project_id=project_id, runs=list(records))


async def _restore(conn: Conn, project_id: int, records: Mapping[UUID, WholeRecord]) -> None:
    spans = [(run, page) for run, record in records.items() for page in record.spans]
    events = [(run, page) for run, record in records.items() for page in record.events]
    states = [(run, state) for run, record in records.items() for state in record.snapshots]
    await sql.run(
        conn,
        "restore_span_pages",
        project_id=project_id,
        runs=[run for run, _ in spans],
        pages=[page.page for _, page in spans],
        digests=[page.digest for _, page in spans],
        items=[page.items for _, page in spans],
        bodies=[compress_json(page.json) for _, page in spans],
    )
    await sql.run(
        conn,
        "write_event_pages",
        project_id=project_id,
        runs=[run for run, _ in events],
        besides=[None] * len(events),
        pages=[page.page for _, page in events],
        firsts=[page.first for _, page in events],
        lasts=[page.last for _, page in events],
        bodies=[compress_json(page.json) for _, page in events],
    )
    await sql.run(
        conn,
        "write_snapshots",
        project_id=project_id,
        runs=[run for run, _ in states],
        seqs=[state.seq for _, state in states],
        histories=[state.history for _, state in states],
        bodies=[compress_json(state.json) for _, state in states],
    )


def _check_here(rows: Sequence[Record]) -> None:
    if elsewhere := [row["run_id"] for row in rows if row["body"] is None]:
        raise RecordsElsewhere(elsewhere)


async def span_bodies(
    conn: Conn, project_id: int, run: UUID, parts: PartReader | None = None
) -> list[tuple[int, bytes]]:
    """Returns number and body of each page of spans of a run that is packed, in their order; nothing for others."""
    rows = await _packed_rows(conn, project_id, [run])
    if not rows:
        return []
    body = (await bodies(parts, rows, await decryption_of(conn, project_id, rows)))[0]
    record = await asyncio.to_thread(packed_runs.decode, body)
    return await asyncio.to_thread(lambda: [(page.page, compress_json(page.json)) for page in record.spans])


async def pages_of_spans(conn: Conn, packs: Packs, project_id: int, run: UUID) -> list[bytes]:
    """Returns the bodies of the pages of spans of a run that is packed; nothing for others. Raises BodiesNeeded."""
    return [
        compress_json(page.json) for record in await _decoded(conn, packs, project_id, run) for page in record.spans
    ]


async def refs_named(conn: Conn, packs: Packs, project_id: int, run: UUID) -> set[bytes]:
    """Returns digests of all contents and threads that the record of a packed run names, also of those that it does
    not keep; nothing for others. Raises BodiesNeeded."""
    records = await _decoded(conn, packs, project_id, run)
    return {digest for record in records for digest in StoredRecord(record).named}


async def _decoded(conn: Conn, packs: Packs, project_id: int, run: UUID) -> list[WholeRecord]:
    rows = await _packed_rows(conn, project_id, [run])
    found = await packs.bodies_of(conn, project_id, rows, PURPOSE)
    return await asyncio.to_thread(lambda: [packed_runs.decode(body) for body in found])


async def refs_kept(conn: Conn, project_id: int, run: UUID) -> list[bytes]:
    """Returns digests of the contents and threads that a packed run keeps; nothing for others."""
    rows = await _packed_rows(conn, project_id, [run])
    if not rows:
        return []
    if rows[0]["kept"] is not None:
        return list(packed_runs.digests_of(rows[0]["kept"]))
    stored = StoredRecord(await asyncio.to_thread(packed_runs.decode, rows[0]["body"]))
    return list(stored.named)


def digest_list(refs: Iterable[ContentRef]) -> bytes:
    """Returns the column `kept` for these refs."""
    return b"".join(sorted(ref.digest for ref in refs))
