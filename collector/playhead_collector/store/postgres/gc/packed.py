"""store: marks and deletes contents and thread nodes in packs."""

import asyncio
from collections.abc import Collection, Sequence

from playhead_collector.store.packing import content_packs
from playhead_collector.store.packing.content_packs import OpenPack, PackItems
from playhead_collector.store.packing.zstd import Zstd
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.sealed.packs import Packs
from playhead_collector.store.postgres.statements import Conn


async def mark_all(conn: Conn, packs: Packs, project_id: int, numbers: Sequence[int]) -> None:
    """Marks all items of these packs."""
    opened = await packs.open(conn, project_id, numbers)
    refs = await asyncio.to_thread(_digests, list(opened.values()))
    await sql.run(conn, "mark", project_id=project_id, refs=refs)


async def take_nodes(conn: Conn, packs: Packs, project_id: int, numbers: Sequence[int]) -> int:
    """Deletes unmarked thread nodes from these packs. Returns how many."""
    return await _take(conn, packs, project_id, numbers, of_nodes=True)


async def take_contents(conn: Conn, packs: Packs, project_id: int, numbers: Sequence[int]) -> int:
    """Deletes unmarked contents from these packs. Returns how many. Call it when all unmarked nodes are deleted."""
    return await _take(conn, packs, project_id, numbers, of_nodes=False)


async def _take(conn: Conn, packs: Packs, project_id: int, numbers: Sequence[int], *, of_nodes: bool) -> int:
    opened = await packs.open(conn, project_id, numbers)
    digests = await asyncio.to_thread(_digests, list(opened.values()))
    marked = set(await sql.column(conn, "marked", project_id=project_id, refs=digests))
    encoding = await packs.dictionaries.newest(conn, project_id)
    zstd = await packs.dictionaries.zstd(conn, project_id, encoding)
    gone = 0
    for number, pack in opened.items():
        items, remaining = pack.items(), _left(pack.items(), marked, of_nodes=of_nodes)
        removed = len(items.contents) + len(items.nodes) - len(remaining.contents) - len(remaining.nodes)
        gone += removed
        lost = [content.ref.digest for content in items.contents if content.ref.digest not in marked]
        if lost and not of_nodes:
            await sql.run(conn, "forget_searched_texts", project_id=project_id, refs=lost)
        if not remaining.contents and not remaining.nodes:
            await sql.run(conn, "delete_packs", project_id=project_id, packs=[number])
        elif removed:
            body = await asyncio.to_thread(_body, remaining, zstd)
            keys = content_packs.array_of(remaining.keys)
            changed = {"pack": number, "encoding": encoding, "keys": keys, "body": body}
            await sql.run(conn, "rewrite_pack", project_id=project_id, **changed)
    return gone


def _digests(packs: Sequence[OpenPack]) -> list[bytes]:
    every = [pack.items() for pack in packs]
    return [item.ref.digest for items in every for item in (*items.contents, *items.nodes)]


def _left(items: PackItems, marked: Collection[bytes], *, of_nodes: bool) -> PackItems:
    if of_nodes:
        return PackItems(items.contents, [item for item in items.nodes if item.ref.digest in marked])
    return PackItems([item for item in items.contents if item.ref.digest in marked], items.nodes)


def _body(items: PackItems, zstd: Zstd) -> bytes:
    return zstd.compress_pack(content_packs.encode(items))
