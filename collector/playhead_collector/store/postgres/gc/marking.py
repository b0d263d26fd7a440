"""store: marks the contents and threads that garbage collection must keep.

Every text that looks like a ref counts as a ref, so some content may be kept without need, but none is deleted wrongly.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import UUID

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.sealed.packs import Packs
from playhead_collector.store.postgres.statements import Conn

_REF = re.compile(rb"sha256:([0-9a-f]{64})")
# 500 contents or threads take a few ms; large contents are limited by their compressed bytes.
REFS_AT_A_TIME = 500
_BYTES_AT_A_TIME = 4 * 1024 * 1024


async def mark_run(conn: Conn, project_id: int, run: UUID) -> None:
    """Marks the refs in a run's spans, log events, events and states."""
    rows = await sql.rows(conn, "bodies_of", project_id=project_id, run=run)
    refs = await asyncio.to_thread(_named_by_pages, rows)
    await sql.run(conn, "mark", project_id=project_id, refs=list(refs))
    await sql.run(conn, "mark_history", project_id=project_id, run=run)


async def trace(conn: Conn, packs: Packs, project_id: int) -> bool:
    """Marks the refs in the next marked contents and threads. Returns False if all marked ones were traced already."""
    refs = await sql.column(conn, "untraced", project_id=project_id, how_many=REFS_AT_A_TIME)
    if not refs:
        return False
    await sql.run(conn, "trace_threads", project_id=project_id, refs=refs)
    sizes = await sql.rows(conn, "content_sizes", project_id=project_id, refs=refs)
    for portion in _portions(sizes):
        rows = await sql.rows(conn, "content_bodies", project_id=project_id, refs=portion)
        bodies = [(await packs.dictionaries.reader(conn, project_id, row["encoding"]), row["body"]) for row in rows]
        named = await asyncio.to_thread(_named_by_contents, bodies)
        await sql.run(conn, "mark", project_id=project_id, refs=list(named))
    nodes = await _trace_packed(conn, packs, project_id, list(map(ContentRef.from_digest, refs)))
    await sql.run(conn, "traced", project_id=project_id, refs=refs + nodes)
    return True


async def _trace_packed(conn: Conn, packs: Packs, project_id: int, refs: Sequence[ContentRef]) -> list[bytes]:
    """Marks the refs in packed contents and threads. Returns the digests of all nodes in the packed threads."""
    contents = await packs.contents(conn, project_id, refs)
    nodes = await packs.chains(conn, project_id, refs)
    named = set(await asyncio.to_thread(lambda: set(_named(content.data for content in contents.values()))))
    named.update(ref.digest for node in nodes.values() for ref in (node.ref, node.message))
    if named:
        await sql.run(conn, "mark", project_id=project_id, refs=list(named))
    return [ref.digest for ref in nodes]


def _named_by_pages(rows: Sequence[Record]) -> set[bytes]:
    def plain() -> Iterator[bytes]:
        for row in rows:
            yield decompress_json(row["body"], None if row["beside"] is None else decompress_json(row["beside"]))

    return set(_named(plain()))


def _named_by_contents(bodies: Sequence[tuple[Callable[[bytes], bytes], bytes]]) -> set[bytes]:
    return set(_named(read(body) for read, body in bodies))


def _named(texts: Iterable[bytes]) -> Iterator[bytes]:
    for text in texts:
        for match in _REF.finditer(text):
            yield bytes.fromhex(match[1].decode())


def _portions(sizes: Iterable[Record]) -> Iterator[list[bytes]]:
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
