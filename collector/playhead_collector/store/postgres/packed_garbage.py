"""[store]: what a sweep does with packs: marks all that is in young ones, and takes out of old ones what is unmarked.

A pack that has moved is written anew with its body from the object store. One whose object is damaged or gone stays as
it is: all that is in it, and what this names, is marked, and what of it is to be erased is tried again later.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from playhead_collector.store.packing import content_packs
from playhead_collector.store.packing.content_packs import OpenPack, PackItems
from playhead_collector.store.packing.zstd import Zstd
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn

# The operator has to restore an object first.
_AGAIN_NS: Final = 6 * 3_600 * 1_000_000_000


class DamagedPacks(Exception):
    """Of packs that lose something, the object store has other bytes, or none. Nothing was changed."""

    def __init__(self, packs: Sequence[OpenPack]) -> None:
        super().__init__(f"{len(packs)} packs")
        self.packs = packs


async def mark_all(conn: Conn, packs: Packs, project_id: int, numbers: Sequence[int]) -> None:
    """Marks all items of these packs, but for those that are to be erased."""
    opened = await packs.open(conn, project_id, numbers)
    refs = await asyncio.to_thread(_digests_of, opened.values())
    erasing = set(await sql.column(conn, "erasing_among", project_id=project_id, refs=refs))
    refs = [ref for ref in refs if ref not in erasing]
    await sql.run(conn, "mark", project_id=project_id, refs=refs)


async def take_unmarked(
    conn: Conn, packs: Packs, project_id: int, numbers: Sequence[int], *, of_nodes: bool
) -> list[bytes]:
    """Deletes unmarked thread nodes, or contents, from these packs. Returns their digests. Take contents when unmarked
    nodes are deleted. Raises DamagedPacks."""
    opened = await packs.open(conn, project_id, numbers)
    digests = await asyncio.to_thread(_digests_of, opened.values())
    marked = set(await sql.column(conn, "marked", project_id=project_id, refs=digests))
    losing = [
        number for number, pack in opened.items() if not marked.issuperset(_digests_of([pack], of_nodes=of_nodes))
    ]
    # Only packs that keep something are needed with their bodies, which may be in the object store.
    losing_all = [
        number
        for number in losing
        if marked.isdisjoint(_digests_of([opened[number]])) and not (of_nodes or opened[number].node_digests())
    ]
    rewritten = [number for number in losing if number not in losing_all]
    whole = await packs.open(conn, project_id, rewritten, whole=True) if rewritten else {}
    if damaged := [opened[number] for number in rewritten if number not in whole]:
        raise DamagedPacks(damaged)
    gone = [digest for number in losing_all for digest in opened[number].content_digests()]
    for number in losing_all:
        await sql.run(conn, "delete_packs", project_id=project_id, packs=[number])
    if not whole:
        return gone
    encoding = await packs.dictionaries.newest(conn, project_id)
    zstd = await packs.dictionaries.zstd(conn, project_id, encoding)
    for number, pack in whole.items():
        items, remaining = pack.items(), _without_unmarked(pack.items(), marked, of_nodes=of_nodes)
        looked = items.nodes if of_nodes else items.contents
        gone += [item.ref.digest for item in looked if item.ref.digest not in marked]
        if not remaining.contents and not remaining.nodes:
            await sql.run(conn, "delete_packs", project_id=project_id, packs=[number])
        else:
            body = await asyncio.to_thread(_compressed, remaining, zstd)
            keys = content_packs.array_of(remaining.keys)
            changed = {"pack": number, "encoding": encoding, "keys": keys, "body": body}
            await sql.run(conn, "rewrite_pack", project_id=project_id, **changed)
    return gone


async def leave(conn: Conn, project_id: int, packs: Sequence[OpenPack], started_ns: int) -> None:
    """Lets these packs stay as they are in the sweep that began then (ns since 1970)."""
    refs = _digests_of(packs)
    await sql.run(conn, "erase_later", project_id=project_id, refs=refs, due=started_ns + _AGAIN_NS)
    await sql.run(conn, "mark", project_id=project_id, refs=refs)


def _digests_of(packs: Iterable[OpenPack], *, of_nodes: bool | None = None) -> list[bytes]:
    """Returns the digests of the packs' items: of nodes, of contents, or with None of all."""
    packs = list(packs)
    contents = [] if of_nodes else [digest for pack in packs for digest in pack.content_digests()]
    return contents + ([] if of_nodes is False else [digest for pack in packs for digest in pack.node_digests()])


def _without_unmarked(items: PackItems, marked: Collection[bytes], *, of_nodes: bool) -> PackItems:
    if of_nodes:
        return PackItems(items.contents, [item for item in items.nodes if item.ref.digest in marked])
    return PackItems([item for item in items.contents if item.ref.digest in marked], items.nodes)


def _compressed(items: PackItems, zstd: Zstd) -> bytes:
    return zstd.compress_pack(content_packs.encode(items))
