"""[store]: which contents and thread nodes runs, contents and threads name. Every text that looks like a ref counts."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead_collector.store.packing.content_packs import digests_in
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.postgres import packed_runs
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn

_DIGEST_BYTES: Final = 32
# Contents are read in portions of so many refs, and of so many compressed bytes.
_REFS_AT_A_TIME: Final = 500
_BYTES_AT_A_TIME: Final = 4 * 1024 * 1024


async def in_run(conn: Conn, project_id: int, run: UUID) -> set[bytes]:
    """Returns the refs in a run's spans, log events, events and states, without the messages of its states."""
    rows = await sql.rows(conn, "bodies_of", project_id=project_id, run=run)
    refs = await asyncio.to_thread(_in_pages, rows)
    refs.update(await packed_runs.refs_kept(conn, project_id, run))
    return refs


async def in_rows(conn: Conn, packs: Packs, project_id: int, refs: Sequence[bytes]) -> AsyncGenerator[set[bytes]]:
    """Yields what those of these contents name that are rows, in portions of bounded size. Of a content in the object
    store its row says what it names."""
    if moved := await sql.column(conn, "names_of_moved", project_id=project_id, refs=refs):
        yield {digest for digests in moved for digest in in_bytes(digests)}
    sizes = await sql.rows(conn, "content_sizes", project_id=project_id, refs=refs)
    for portion in _portions_by_size(sizes):
        rows = await sql.rows(conn, "content_bodies", project_id=project_id, refs=portion)
        bodies = [(await packs.dictionaries.reader(conn, project_id, row["encoding"]), row["body"]) for row in rows]
        yield await asyncio.to_thread(_in_contents, bodies)


async def in_packs(
    conn: Conn, packs: Packs, project_id: int, refs: Collection[ContentRef]
) -> tuple[set[bytes], list[bytes]]:
    """Returns what those of these contents and threads name that are packed, and the digests of all nodes in the
    packed threads."""
    named = await packs.digests_named(conn, project_id, refs)
    nodes = await packs.chains(conn, project_id, refs)
    named.update(ref.digest for node in nodes.values() for ref in (node.ref, node.message))
    return named, [ref.digest for ref in nodes]


async def with_all_below(conn: Conn, packs: Packs, project_id: int, refs: Iterable[bytes]) -> set[bytes]:
    """Returns these refs with all that the contents and threads under them name, directly or over others."""
    known: set[bytes] = set()
    todo = set(refs)
    while todo:
        portion = [todo.pop() for _ in range(min(len(todo), _REFS_AT_A_TIME))]
        known.update(portion)
        found: set[bytes] = set()
        async for named in in_rows(conn, packs, project_id, portion):
            found |= named
        nodes: set[bytes] = set()
        for row in await sql.rows(conn, "nodes_above", project_id=project_id, refs=portion):
            nodes.add(row["ref"])
            found |= {row["message"], *(() if row["parent"] is None else (row["parent"],))}
        packed, packed_nodes = await in_packs(conn, packs, project_id, list(map(ContentRef.from_digest, portion)))
        known |= nodes | {*packed_nodes}
        todo = (todo | found | packed) - known
    return known


def in_bytes(digests: bytes) -> Iterator[bytes]:
    """Yields digests that stand one after the other."""
    for at in range(0, len(digests), _DIGEST_BYTES):
        yield digests[at : at + _DIGEST_BYTES]


def _in_pages(rows: Sequence[Record]) -> set[bytes]:
    def plain() -> Iterator[bytes]:
        for row in rows:
            yield decompress_json(row["body"], None if row["beside"] is None else decompress_json(row["beside"]))

    return set(_digests_in(plain()))


def _in_contents(bodies: Sequence[tuple[Callable[[bytes], bytes], bytes]]) -> set[bytes]:
    return set(_digests_in(read(body) for read, body in bodies))


def _digests_in(texts: Iterable[bytes]) -> Iterator[bytes]:
    for text in texts:
        yield from digests_in(text)


def _portions_by_size(sizes: Iterable[Record]) -> Iterator[list[bytes]]:
    portion: list[bytes] = []
    held = 0
    for row in sizes:
        if portion and held + row["bytes"] > _BYTES_AT_A_TIME:
            yield portion
            portion, held = [], 0
        portion.append(row["ref"])
        held += row["bytes"]
    if portion:
        yield portion
