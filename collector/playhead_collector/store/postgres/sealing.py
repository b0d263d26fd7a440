"""projection → [store]: moves contents and thread nodes of sealed runs from rows into packs, and frees their space.

Rows to pack are searched without locks; then they move in one short transaction that excludes all writers, so that no
row is extended or named meanwhile.  If a collector is killed before the commit, nothing has changed.

A vacuum makes the space of moved rows free for other rows, but does not make an index smaller: a table through which
all data passes would keep its largest size.  Rewriting a table with few remaining rows takes a few milliseconds, in
which the table is locked.
"""

import asyncio
import datetime
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

import zstandard
from asyncpg import Record
from asyncpg.exceptions import LockNotAvailableError

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.model.token_estimates import estimate_content
from playhead_collector.store.packing import content_packs
from playhead_collector.store.packing.content_packs import LARGEST_PACKED, PackedContent, PackItems
from playhead_collector.store.packing.kinds import OTHER_NUMBER, add_kind, kind_in, refs_with_kinds
from playhead_collector.store.packing.zstd import Zstd, decompress_json
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Collision, Database, begin_exclusive_write
from playhead_collector.store.postgres.descriptions import describe_rows
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn

# Writers wait for this lock, as for a step of a sweep.
_LOCK_TIMEOUT_MS = 250
# Rows that move in one transaction: 20 ms, in which writers wait.
_MOVED = 1_000
# Pages of a long run are searched in portions of so many compressed bytes.
_PORTION_BYTES = 64 * 1024
_REF = re.compile(rb"sha256:([0-9a-f]{64})")


async def pack_runs(
    db: Database, packs: Packs, project_id: int, runs: Sequence[UUID], today: datetime.date
) -> set[ContentRef]:
    """Packs the contents and nodes that these runs name, and returns their refs. Each pack names the runs. Raises
    StoreCollision when the lock is not available in time: rows packed until then stay packed."""
    moved = set[ContentRef]()
    async for mentioned in _mentioned(db, project_id, runs):
        began = time.perf_counter()
        async with db.reading() as conn:
            items, kinds = await _rows_named(conn, packs, project_id, mentioned)
        for start in range(0, len(items), _MOVED):
            part = content_packs.split(items[start : start + _MOVED])
            async with db.reading() as conn:
                encoding = await packs.dictionaries.newest(conn, project_id)
                zstd = await packs.dictionaries.zstd(conn, project_id, encoding)
            bodies = await asyncio.to_thread(_compressed_packs, part, zstd)
            async with db.attempt() as conn:
                await _move(conn, project_id, runs, part, bodies, encoding, today)
            if start + _MOVED < len(items):  # a pause as long as the work, also within a long run
                await asyncio.sleep(time.perf_counter() - began)
                began = time.perf_counter()
            moved.update(item.ref for pack in part for item in (*pack.contents, *pack.nodes))
        await describe_rows(db, packs, project_id, {ref: kind for ref, kind in kinds.items() if ref not in moved})
    return moved


def _compressed_packs(part: Iterable[PackItems], zstd: Zstd) -> list[bytes]:
    return [zstd.compress_pack(content_packs.encode(pack)) for pack in part]


async def _move(
    conn: Conn,
    project_id: int,
    runs: Sequence[UUID],
    part: Sequence[PackItems],
    bodies: Sequence[bytes],
    encoding: int,
    today: datetime.date,
) -> None:
    await begin_exclusive_write(conn, project_id, _LOCK_TIMEOUT_MS)
    if await sql.value(conn, "is_sweeping", project_id=project_id):
        raise Collision("a sweep is under way")
    contents = [item.ref.digest for pack in part for item in pack.contents]
    nodes = [item.ref.digest for pack in part for item in pack.nodes]
    gone = await sql.column(conn, "take_contents", project_id=project_id, refs=contents)
    gone += await sql.column(conn, "take_nodes", project_id=project_id, refs=nodes)
    if len(gone) != len(contents) + len(nodes):
        raise Collision("another collector packs the same")
    keys = [content_packs.array_of(pack.keys) for pack in part]
    written = {"encodings": [encoding] * len(part), "keys": keys, "bodies": bodies}
    await sql.run(conn, "write_packs", project_id=project_id, runs=list(runs), today=today, **written)


# --- what a run names -------------------------------------------------------------------------------------------------


async def _mentioned(db: Database, project_id: int, runs: Sequence[UUID]) -> AsyncIterator[dict[ContentRef, int]]:
    """Yields the refs that the runs' spans, events and states name, in their order, some pages at a time. With
    each, the number of the kind that its name tells."""
    part, size = list[Record](), 0
    for run in runs:
        async with db.reading() as conn:
            rows = await sql.rows(conn, "bodies_of", project_id=project_id, run=run)
        for row in rows:
            part.append(row)
            size += len(row["body"])
            if size > _PORTION_BYTES:
                yield await asyncio.to_thread(_refs_of_pages, part)
                part, size = [], 0
    yield await asyncio.to_thread(_refs_of_pages, part)


def _refs_of_pages(rows: Iterable[Record]) -> dict[ContentRef, int]:
    kinds: dict[ContentRef, int] = {}
    for row in rows:
        beside = row["beside"]
        for ref, kind in refs_with_kinds(decompress_json(row["body"], beside and decompress_json(beside))):
            add_kind(kinds, ref, kind)
    return kinds


def _refs_in(text: bytes) -> Iterator[ContentRef]:
    return (ContentRef("sha256:" + match[1].decode()) for match in _REF.finditer(text))


async def _rows_named(
    conn: Conn, packs: Packs, project_id: int, mentioned: Mapping[ContentRef, int]
) -> tuple[list[PackedContent | ThreadNode], dict[ContentRef, int]]:
    """Returns the rows of contents and nodes that `mentioned` refs name, directly or indirectly. Each node comes after
    its parent. Also returns the kind of each ref: what another content names, and nothing else, has that one's kind."""
    items, kinds = dict[ContentRef, PackedContent | ThreadNode](), dict(mentioned)
    wanted, seen = list(mentioned), set[ContentRef]()
    while wanted:
        seen.update(wanted)
        nodes = await _nodes_named(conn, project_id, wanted)
        refs = [*wanted, *(node.message for node in nodes.values())]
        contents = await _contents_named(conn, packs, project_id, refs, kinds)
        inside = await asyncio.to_thread(_add_all, items, wanted, nodes, contents)
        for ref, kind in inside.items():
            add_kind(kinds, ref, kind)
        wanted = [ref for ref in inside if ref not in seen]
    return list(items.values()), kinds


async def _nodes_named(conn: Conn, project_id: int, refs: Collection[ContentRef]) -> dict[ContentRef, ThreadNode]:
    digests = [ref.digest for ref in refs]
    rows = await sql.rows(conn, "nodes_to_pack", project_id=project_id, refs=digests)
    return await asyncio.to_thread(_nodes_of, rows)


def _nodes_of(rows: Sequence[Record]) -> dict[ContentRef, ThreadNode]:
    ref_at = {(row["lineage"], row["depth"]): ContentRef.from_digest(row["ref"]) for row in rows}
    nodes: dict[ContentRef, ThreadNode] = {}
    for row in rows:
        parent = ref_at.get((row["parent_lineage"], row["depth"] - 1))
        if parent is None and row["parent"] is not None:
            parent = ContentRef.from_digest(row["parent"])
        ref, message = ref_at[row["lineage"], row["depth"]], ContentRef.from_digest(row["message"])
        nodes[ref] = ThreadNode(ref, parent, message, row["depth"])
    return nodes


async def _contents_named(
    conn: Conn, packs: Packs, project_id: int, refs: Sequence[ContentRef], kinds: Mapping[ContentRef, int]
) -> dict[ContentRef, PackedContent]:
    digests = [ref.digest for ref in refs]
    rows = await sql.rows(conn, "contents_to_pack", project_id=project_id, refs=digests, largest=LARGEST_PACKED)
    encodings = {row["encoding"] for row in rows}
    readers = {encoding: await packs.dictionaries.reader(conn, project_id, encoding) for encoding in encodings}
    return await asyncio.to_thread(_contents_of, rows, readers, kinds)


def _contents_of(
    rows: Iterable[Record], readers: Mapping[int, Callable[[bytes], bytes]], kinds: Mapping[ContentRef, int]
) -> dict[ContentRef, PackedContent]:
    contents: dict[ContentRef, PackedContent] = {}
    for row in rows:
        ref, data = ContentRef.from_digest(row["ref"]), b""
        with suppress(zstandard.ZstdError):
            data = readers[row["encoding"]](row["body"])
        # A damaged content is not moved; reading it raises ContentCorrupt.
        if len(data) <= LARGEST_PACKED and ContentRef.of(data) == ref:
            kind = row["kind"] or kinds.get(ref) or kind_in(data, row["role"]) or OTHER_NUMBER
            tokens = estimate_content(data) if row["tokens"] is None else row["tokens"]
            contents[ref] = PackedContent(ref, row["media"], row["role"], data, kind, tokens, row["first_stored"])
    return contents


def _add_all(
    items: dict[ContentRef, PackedContent | ThreadNode],
    refs: Iterable[ContentRef],
    nodes: Mapping[ContentRef, ThreadNode],
    contents: Mapping[ContentRef, PackedContent],
) -> dict[ContentRef, int]:
    """Adds the contents and threads with these refs to `items`. Returns the refs that `contents` name, with the kind of
    the first that names each."""
    for ref in refs:
        _add_thread(items, ref, nodes, contents)
        if ref in contents:
            items.setdefault(ref, contents[ref])
    inside: dict[ContentRef, int] = {}
    for content in contents.values():
        for ref in _refs_in(content.data):
            inside.setdefault(ref, content.kind)
    return inside


def _add_thread(
    items: dict[ContentRef, PackedContent | ThreadNode],
    tip: ContentRef,
    nodes: Mapping[ContentRef, ThreadNode],
    contents: Mapping[ContentRef, PackedContent],
) -> None:
    path: list[ThreadNode] = []
    ref: ContentRef | None = tip
    while ref is not None and ref in nodes and ref not in items:
        path.append(nodes[ref])
        ref = nodes[ref].parent
    for node in reversed(path):
        if node.message in contents:
            items.setdefault(node.message, contents[node.message])
        items[node.ref] = node


# --- the space of moved rows -----------------------------------------------------------------------------------------

# A table with more rows is left to autovacuum: rewriting it would make ingest wait too long.
_MOST_ROWS = 20_000
# Upper bound of a row with its index entries, in bytes; and the size of empty tables.
_ROW_BYTES, _EMPTY_BYTES = 1_000, 48 * 1024


async def shrink(db: Database) -> bool:
    """Rewrites tables that are mostly empty. Returns False when a table was in use: try again later."""
    done = True
    async with db.reading() as conn:
        for row in await sql.rows(conn, "waste", enough=_MOST_ROWS):
            if row["rows"] >= _MOST_ROWS or row["bytes"] < 2 * (_EMPTY_BYTES + row["rows"] * _ROW_BYTES):
                continue
            try:
                await conn.execute(f"set lock_timeout = {_LOCK_TIMEOUT_MS}")
                await conn.execute(f"vacuum (full) {row['name']}")
            except LockNotAvailableError:
                done = False
            finally:
                await conn.execute("reset lock_timeout")
    return done
