"""[store] → read, project: finds packed contents and thread nodes by their refs."""

import asyncio
import datetime
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence

import zstandard
from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead_collector.errors import ContentCorrupt
from playhead_collector.store.packing.content_packs import OpenPack, PackedContent, key_of
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.dictionaries import Dictionaries
from playhead_collector.store.postgres.statements import Conn

# A cache of recently read packs: all messages of a context are in a few packs, and are read often.
_KEPT_BYTES = 16 * 1024 * 1024
# Decompressing more bytes than this would block the event loop: a thread does it.
_BUSY_BYTES = 256 * 1024


class Packs:
    """Reads packs, and caches them. Methods that take refs return only packed items."""

    def __init__(self, dictionaries: Dictionaries, kept_bytes: int = _KEPT_BYTES) -> None:
        self.dictionaries = dictionaries
        self._kept: OrderedDict[tuple[int, int, int], OpenPack] = OrderedDict()
        self._bytes, self._most = 0, kept_bytes

    async def contents(
        self, conn: Conn, project_id: int, refs: Collection[ContentRef]
    ) -> dict[ContentRef, PackedContent]:
        """Returns contents by their refs."""
        packs = await self._with(conn, project_id, refs)
        return {ref: content for ref in refs for pack in packs if (content := pack.content(ref)) is not None}

    async def refs_with_prefix(self, conn: Conn, project_id: int, prefixes: Collection[bytes]) -> set[ContentRef]:
        """Returns refs of contents whose digest begins with one of these prefixes."""
        packs = await self._with(
            conn, project_id, [ContentRef.from_digest(beginning.ljust(32, b"\x00")) for beginning in prefixes]
        )
        return {ref for beginning in prefixes for pack in packs if (ref := pack.ref_with_prefix(beginning)) is not None}

    async def nodes(self, conn: Conn, project_id: int, refs: Collection[ContentRef]) -> dict[ContentRef, ThreadNode]:
        """Returns thread nodes by their refs."""
        packs = await self._with(conn, project_id, refs)
        return {ref: node for ref in refs for pack in packs if (node := pack.node(ref)) is not None}

    async def packed_refs(self, conn: Conn, project_id: int, refs: Collection[ContentRef]) -> set[ContentRef]:
        """Returns the given refs that are packed, as contents or as nodes."""
        return set(await self.packed_dates(conn, project_id, refs))

    async def mark_used(
        self, conn: Conn, project_id: int, refs: Collection[ContentRef], today: datetime.date
    ) -> set[ContentRef]:
        """Returns the same as `packed_refs`. Also sets the refs' last use to today, if their packs are older, so that a
        sweep keeps them."""
        dates = await self.packed_dates(conn, project_id, refs)
        # Packs of today are kept anyway.
        if old := [ref.digest for ref, packed in dates.items() if packed < today]:
            await sql.run(conn, "note_packed_seen", project_id=project_id, refs=old, today=today)
        return set(dates)

    async def packed_dates(
        self, conn: Conn, project_id: int, refs: Collection[ContentRef]
    ) -> dict[ContentRef, datetime.date]:
        """Returns the day on which each was packed, of those of these refs that are."""
        packs = await self._with(conn, project_id, refs)
        return {ref: pack.packed for ref in refs for pack in packs if pack.content(ref) or pack.node(ref)}

    async def chains(self, conn: Conn, project_id: int, refs: Iterable[ContentRef]) -> dict[ContentRef, ThreadNode]:
        """Returns all packed nodes of these threads. The parent of a packed node is always packed, too; its children
        may be rows."""
        nodes: dict[ContentRef, ThreadNode] = {}
        wanted = set(refs)
        while wanted:
            above = set[ContentRef]()
            packs = await self._with(conn, project_id, wanted)
            for ref in wanted:
                for pack in packs:
                    above |= _take(pack.chain(ref, nodes), nodes)
            wanted = above - nodes.keys()
        return nodes

    async def open(self, conn: Conn, project_id: int, numbers: Sequence[int]) -> dict[int, OpenPack]:
        """Returns packs by their numbers, without using the cache. Raises ContentCorrupt."""
        rows = await sql.rows(conn, "read_packs", project_id=project_id, packs=numbers)
        return {row["pack"]: pack for row, pack in zip(rows, await self._unpacked(conn, project_id, rows), strict=True)}

    async def _with(self, conn: Conn, project_id: int, refs: Collection[ContentRef]) -> list[OpenPack]:
        """Returns packs that may have some of these refs."""
        if not refs:
            return []
        rows = await sql.rows(conn, "find_packs", project_id=project_id, keys=[key_of(ref) for ref in refs])
        open_packs: list[OpenPack] = []
        unread: list[int] = []
        for row in rows:
            cached = self._kept.get(key := (project_id, row["pack"], row["version"]))
            if cached is None:
                unread.append(row["pack"])
            else:
                self._kept.move_to_end(key)
                open_packs.append(cached)
        if unread:
            bodies = await sql.rows(conn, "read_packs", project_id=project_id, packs=unread)
            packs = await self._unpacked(conn, project_id, bodies)
            for row, pack in zip(bodies, packs, strict=True):
                self._keep((project_id, row["pack"], row["version"]), pack)
            open_packs += packs
        return open_packs

    async def _unpacked(self, conn: Conn, project_id: int, rows: Sequence[Record]) -> list[OpenPack]:
        readers = [await self.dictionaries.reader(conn, project_id, row["encoding"]) for row in rows]

        def unpacked() -> list[OpenPack]:
            return [
                OpenPack(row["keys"], read(row["body"]), row["packed"]) for row, read in zip(rows, readers, strict=True)
            ]

        try:
            if sum(len(row["body"]) for row in rows) > _BUSY_BYTES:
                return await asyncio.to_thread(unpacked)
            return unpacked()
        except zstandard.ZstdError as error:
            numbers = ", ".join(str(row["pack"]) for row in rows)
            raise ContentCorrupt(
                f"one of the packs {numbers} cannot be decompressed ({error}): restore it from a backup"
            ) from error

    def _keep(self, key: tuple[int, int, int], pack: OpenPack) -> None:
        if key in self._kept:
            return
        self._kept[key] = pack
        self._bytes += pack.bytes
        while self._bytes > self._most and self._kept:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.bytes


def _take(chain: Sequence[ThreadNode], nodes: dict[ContentRef, ThreadNode]) -> set[ContentRef]:
    """Adds these nodes to `nodes`. Returns the parent of the chain's first node, unless `nodes` has it already."""
    nodes |= {node.ref: node for node in chain}
    parent = chain[-1].parent if chain else None
    return set() if parent is None or parent in nodes else {parent}
