"""[store] → read, project: finds packed contents and thread nodes by their refs.

Of a pack in the object store, Postgres has the outline. Whoever needs more than that gets `BodiesNeeded`, which
`Packs.supplied` answers: it reads what is needed and calls again, so that nobody waits for the object store while it
holds a connection or a lock of Postgres.
"""

import asyncio
import copy
import datetime
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, Self, TypeVar

import zstandard
from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead_collector.errors import ContentCorrupt
from playhead_collector.store.packing.content_packs import OpenPack, PackedContent, PackedFacts, key_of
from playhead_collector.store.packing.kinds import kind_of_stored
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.ports.contents import ContentFacts, content_tier
from playhead_collector.store.ports.objects import PartLocation
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.dictionaries import Dictionaries
from playhead_collector.store.postgres.statements import Conn

log = logging.getLogger(__name__)
T = TypeVar("T")

# A cache of recently read packs: all messages of a context are in a few packs, and are read often.
_KEPT_BYTES = 16 * 1024 * 1024
# Decompressing more bytes than this would block the event loop: a thread does it.
_BUSY_BYTES = 256 * 1024


class BodiesNeeded(Exception):
    """Bodies that are in the object store and have to be read first: see `Packs.supplied`."""

    def __init__(self, locations: Collection[PartLocation]) -> None:
        super().__init__(f"{len(locations)} bodies are in the object store")
        self.locations = frozenset(locations)


class PartReader(Protocol):
    """Reads parts of objects, see `ports.objects.PartStore`."""

    async def read_parts(self, locations: Collection[PartLocation]) -> Mapping[PartLocation, bytes]:
        """Returns parts. Raises ObjectStoreUnavailable, ContentCorrupt."""
        ...


@dataclass(slots=True)
class _PackCache:
    """Packs that were read lately, by project, pack and version."""

    most_bytes: int
    packs: OrderedDict[tuple[int, int, int], OpenPack] = field(
        default_factory=OrderedDict[tuple[int, int, int], OpenPack]
    )
    bytes: int = 0

    def get(self, key: tuple[int, int, int]) -> OpenPack | None:
        if (pack := self.packs.get(key)) is not None:
            self.packs.move_to_end(key)
        return pack

    def put(self, key: tuple[int, int, int], pack: OpenPack) -> None:
        if (before := self.packs.pop(key, None)) is not None:
            self.bytes -= before.bytes
        self.packs[key] = pack
        self.bytes += pack.bytes
        while self.bytes > self.most_bytes and self.packs:
            _, oldest = self.packs.popitem(last=False)
            self.bytes -= oldest.bytes


class Packs:
    """Reads packs, and caches them. Methods that take refs return only packed items.

    Methods that return contents raise BodiesNeeded for packs in the object store.
    """

    def __init__(self, dictionaries: Dictionaries, kept_bytes: int = _KEPT_BYTES) -> None:
        self.dictionaries = dictionaries
        self.part_reader: PartReader | None = None
        """Where moved bodies are read; None: there is no object store."""
        self._kept = _PackCache(kept_bytes)
        self._supplied: Mapping[PartLocation, bytes] = {}
        self._damaged: Set[PartLocation] = frozenset()

    async def supplied(self, work: Callable[[Self], Awaitable[T]], *, leave_damaged: bool = False) -> T:
        """Runs `work` with packs that have the bodies which it needs: after each BodiesNeeded, reads them and runs
        `work` again. It must have changed nothing when it raises. `leave_damaged`: `open` leaves out packs of which the
        object store has other bytes, or none.

        Raises ObjectStoreUnavailable; raises ContentCorrupt if the object store has other bytes.
        """
        here, supplied, damaged = copy.copy(self), dict[PartLocation, bytes](), set[PartLocation]()
        here._supplied, here._damaged = supplied, damaged
        while True:
            try:
                return await work(here)
            except BodiesNeeded as needed:
                if self.part_reader is None:
                    raise
                wanted = needed.locations - supplied.keys()
                try:
                    supplied |= await self.part_reader.read_parts(wanted)
                except ContentCorrupt:
                    if not leave_damaged:
                        raise
                    supplied |= await self._undamaged(self.part_reader, wanted, damaged)

    async def _undamaged(
        self, reader: PartReader, wanted: Collection[PartLocation], damaged: set[PartLocation]
    ) -> dict[PartLocation, bytes]:
        """Reads one part after the other. Adds to `damaged` those that cannot be read."""
        found: dict[PartLocation, bytes] = {}
        for location in wanted:
            try:
                found |= await reader.read_parts([location])
            except ContentCorrupt as error:
                log.error("a pack is left as it is: %s", error)  # noqa: TRY400 - it is no error of ours
                damaged.add(location)
        return found

    async def bodies_of(self, conn: Conn, project_id: int, rows: Sequence[Record], purpose: str) -> list[bytes]:
        """Returns the bodies of rows, wherever they are. The rows have the columns `body` (decrypted), `object`,
        `object_start`, `object_length` and `object_digest`. `purpose`: what bodies in the object store were encrypted
        for, in a project that is encrypted. Raises BodiesNeeded, CannotDecrypt."""
        decrypt = await decryption(conn, project_id, purpose) if any(row["body"] is None for row in rows) else bytes
        bodies: list[bytes] = []
        needed: list[PartLocation] = []
        for row in rows:
            body = row["body"]
            if body is None:
                body = self._supplied.get(location := location_of(row))
                if body is None:
                    needed.append(location)
                    continue
                body = decrypt(body)
            bodies.append(body)
        if needed:
            raise BodiesNeeded(needed)
        return bodies

    async def contents(
        self, conn: Conn, project_id: int, refs: Collection[ContentRef]
    ) -> dict[ContentRef, PackedContent]:
        """Returns contents by their refs."""
        packs = await self._whole(conn, project_id, await self._with(conn, project_id, refs), refs)
        return {ref: content for ref in refs for pack in packs if (content := pack.content(ref)) is not None}

    async def facts(self, conn: Conn, project_id: int, ref: ContentRef) -> ContentFacts | None:
        """Returns what is stored about a content besides its bytes; None if it is not packed."""
        for pack in await self._with(conn, project_id, [ref.plain]):
            if (facts := pack.facts_of(ref.plain)) is not None:
                seen = await sql.value(conn, "packed_last_seen", project_id=project_id, ref=ref.digest)
                last_named = max(pack.packed, seen or pack.packed)
                kind = kind_of_stored(facts.kind, facts.role)
                tier = content_tier(is_moved=pack.is_outline)
                return ContentFacts(kind, facts.tokens, facts.first_stored, last_named, tier)
        return None

    async def facts_of_many(
        self, conn: Conn, project_id: int, refs: Collection[ContentRef]
    ) -> dict[ContentRef, PackedFacts]:
        """Returns what packs say of contents by their refs, wherever the contents are."""
        packs = await self._with(conn, project_id, refs)
        return {ref: found for ref in refs for pack in packs if (found := pack.facts_of(ref)) is not None}

    async def digests_named(self, conn: Conn, project_id: int, refs: Collection[ContentRef]) -> set[bytes]:
        """Returns the digests of all that these contents name, wherever the contents are."""
        packs = await self._with(conn, project_id, refs)
        return await asyncio.to_thread(
            lambda: {digest for ref in refs for pack in packs for digest in pack.digests_named_by(ref)}
        )

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
        return {ref: pack.packed for ref in refs for pack in packs if pack.has(ref)}

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

    async def open(
        self, conn: Conn, project_id: int, numbers: Sequence[int], *, whole: bool = False
    ) -> dict[int, OpenPack]:
        """Returns packs by their numbers, without using the cache: outlines of packs in the object store, or with
        `whole` the packs themselves, without those that are damaged (see `supplied`). Raises ContentCorrupt."""
        rows = await sql.rows(conn, "read_packs", project_id=project_id, packs=numbers)
        if whole:
            rows = [row for row in rows if row["body"] is not None or location_of(row) not in self._damaged]
        packs = await self._unpacked(conn, project_id, rows, whole=whole)
        return {row["pack"]: pack for row, pack in zip(rows, packs, strict=True)}

    async def _with(self, conn: Conn, project_id: int, refs: Collection[ContentRef]) -> list[OpenPack]:
        """Returns packs that may have some of these refs."""
        if not refs:
            return []
        rows = await sql.rows(conn, "find_packs", project_id=project_id, keys=[key_of(ref) for ref in refs])
        found: list[OpenPack] = []
        unread: list[int] = []
        for row in rows:
            if (cached := self._kept.get((project_id, row["pack"], row["version"]))) is None:
                unread.append(row["pack"])
            else:
                found.append(cached)
        return found + await self._read(conn, project_id, unread)

    async def _read(
        self, conn: Conn, project_id: int, numbers: Sequence[int], *, whole: bool = False
    ) -> list[OpenPack]:
        if not numbers:
            return []
        rows = await sql.rows(conn, "read_packs", project_id=project_id, packs=numbers)
        packs = await self._unpacked(conn, project_id, rows, whole=whole)
        for row, pack in zip(rows, packs, strict=True):
            self._kept.put((project_id, row["pack"], row["version"]), pack)
        return packs

    async def _whole(
        self, conn: Conn, project_id: int, packs: Sequence[OpenPack], refs: Collection[ContentRef]
    ) -> list[OpenPack]:
        """Returns the packs, and those that have one of these contents with their bytes."""
        outlines = [pack for pack in packs if pack.is_outline and any(map(pack.has_content, refs))]
        whole = await self._read(conn, project_id, [pack.number for pack in outlines], whole=True)
        return [pack for pack in packs if not pack.is_outline] + whole

    async def _unpacked(self, conn: Conn, project_id: int, rows: Sequence[Record], *, whole: bool) -> list[OpenPack]:
        """Decodes packs. Those in the object store become outlines, unless `whole`."""
        outlined = [not whole and row["body"] is None for row in rows]
        here = [row for row, is_outline in zip(rows, outlined, strict=True) if not is_outline]
        bodies = iter(await self.bodies_of(conn, project_id, here, "pack"))
        encoded = [
            row["outline"] if is_outline else next(bodies) for row, is_outline in zip(rows, outlined, strict=True)
        ]
        readers = [
            decompress_json if is_outline else await self.dictionaries.reader(conn, project_id, row["encoding"])
            for row, is_outline in zip(rows, outlined, strict=True)
        ]
        sizes = [row["object_length"] or len(row["body"]) for row in rows]

        def unpacked() -> list[OpenPack]:
            return [
                OpenPack(
                    row["keys"],
                    read(body),
                    row["packed"],
                    stored_bytes=stored,
                    number=row["pack"],
                    is_outline=is_outline,
                )
                for row, read, body, stored, is_outline in zip(rows, readers, encoded, sizes, outlined, strict=True)
            ]

        try:
            if sum(map(len, encoded)) > _BUSY_BYTES:
                return await asyncio.to_thread(unpacked)
            return unpacked()
        except zstandard.ZstdError as error:
            numbers = ", ".join(str(row["pack"]) for row in rows)
            raise ContentCorrupt(
                f"one of the packs {numbers} cannot be decompressed ({error}): restore it from a backup"
            ) from error


async def decryption(conn: Conn, project_id: int, purpose: str) -> Callable[[bytes], bytes]:
    """Returns the function that decrypts bodies as they are in rows and objects, in any thread. It does nothing in a
    project that is not encrypted.  Raises KeyDestroyed, WrongEncryptionKey; the function raises CannotDecrypt."""
    cipher = await sql.cipher_of(conn, project_id)
    return bytes if cipher is None else partial(cipher.decrypt, purpose=purpose)


def location_of(row: Record) -> PartLocation:
    """Returns the location that a row of `content` or `content_pack` has."""
    return PartLocation(row["object"], row["object_start"], row["object_length"], row["object_digest"])


def _take(chain: Sequence[ThreadNode], nodes: dict[ContentRef, ThreadNode]) -> set[ContentRef]:
    """Adds these nodes to `nodes`. Returns the parent of the chain's first node, unless `nodes` has it already."""
    nodes |= {node.ref: node for node in chain}
    parent = chain[-1].parent if chain else None
    return set() if parent is None or parent in nodes else {parent}
