"""[store] → retain: parts of objects in the object store: written, published, read, and objects deleted.

    writing ─(published with the rows that name it)─▶ pointed ─(bodies of these rows deleted)─▶ live ─▶ doomed ─▶ gone

Order of writing: the row of the object, the object, the check that it is there as it was written, the rows that name
it. Order of deleting: the rows, a wait, the object, its row. So a collector that is killed anywhere leaves an object
that a row of `stored_object` knows, and the next one deletes it.
"""

import asyncio
import datetime
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import IntEnum
from functools import partial
from typing import TypeVar

from playhead_collector.errors import ContentCorrupt, ObjectStoreUnavailable
from playhead_collector.store.ports.objects import ObjectGone, ObjectSizes, ObjectStore, PartLocation, part_digest
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Collision, Database
from playhead_collector.store.postgres.statements import Conn

log = logging.getLogger(__name__)
K = TypeVar("K")

# 16 MiB: some 500 packs, so that a terabyte is 65,000 objects. Larger ones would save few requests more, and the
# collector holds one in memory while it writes it, and reads it again to check it.
OBJECT_BYTES = 16 * 1024 * 1024
# A writer whose object is not published by then was killed, or is much slower than all time limits of a write.
WRITING_SECONDS = 3_600.0
# Parts that were read lately: a page of the UI asks several questions about the same large content.
_KEPT_BYTES, _LARGEST_KEPT = 16 * 1024 * 1024, 4 * 1024 * 1024
# After a failure, questions are answered at once for so long, and do not wait for the time limit one after the other.
_FAILING_SECONDS = 5.0
# Questions that wait for the object store at a time: half of those that read at a time (PLAYHEAD_MAX_READS), so that
# the others go on while it is slow. One more waits for its turn so long.
_QUESTIONS, _TURN_SECONDS = 2, 1.0
# Objects that one question reads at a time.
_READS = 4
_READ_ATTEMPTS = 2
_DELETED_AT_A_TIME = 500


class ObjectState(IntEnum):
    """States of an object. The numbers are stored in rows."""

    WRITING, POINTED, LIVE, DOOMED = range(4)


class PostgresObjects:
    """Implements `ports.objects.PartStore` and `ObjectKeeping`.  Without an object store, nothing moves, and no moved
    body can be read."""

    def __init__(
        self,
        db: Database,
        objects: ObjectStore | None,
        wall_ns: Callable[[], int] = time.time_ns,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wall_ns`: ns since 1970, for the month in keys; `clock` gives seconds."""
        self._db = db
        self._objects = objects
        self._wall_ns = wall_ns
        self._clock = clock
        self._keys: dict[int, str] = {}
        self._kept: OrderedDict[PartLocation, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._questions = asyncio.Semaphore(_QUESTIONS)
        self._failing_until = -1.0
        self._failure = ""

    @property
    def is_on(self) -> bool:
        return self._objects is not None

    # --- writing ------------------------------------------------------------------------------------------------------

    async def put_parts(self, project_id: int, parts: Mapping[K, bytes]) -> Mapping[K, PartLocation]:
        located: dict[K, PartLocation] = {}
        for group in _groups(parts):
            located |= await self._put_object(project_id, {key: parts[key] for key in group})
        return located

    async def _put_object(self, project_id: int, parts: Mapping[K, bytes]) -> Mapping[K, PartLocation]:
        store, data = self._store(), b"".join(parts.values())
        month = datetime.datetime.fromtimestamp(self._wall_ns() // 1_000_000_000, datetime.UTC).strftime("%Y-%m")
        key = f"{project_id}/{month}/{uuid.uuid4().hex}"
        async with self._db.transaction() as conn:
            number: int = await sql.value(conn, "insert_object", project_id=project_id, key=key, bytes=len(data))
        try:
            await store.put(key, data)
            await _check(store, key, data)
        except ObjectStoreUnavailable:
            # Something may be there all the same, or arrive later.
            async with self._db.transaction() as conn:
                await sql.run(conn, "doom_objects", objects=[number])
            raise
        located: dict[K, PartLocation] = {}
        start = 0
        for name, part in parts.items():
            located[name] = PartLocation(number, start, len(part), part_digest(part))
            start += len(part)
        return located

    async def publish(
        self, conn: Conn, locations: Iterable[PartLocation], state: ObjectState = ObjectState.LIVE
    ) -> None:
        """Makes objects durable: call it in the transaction that stores the locations. `state`: POINTED if the rows
        still have the bytes, which are deleted later. Raises Collision if the objects were given up meanwhile."""
        numbers = {location.object for location in locations}
        if await sql.run(conn, "publish_objects", objects=list(numbers), state=state) != len(numbers):
            raise Collision("objects were given up, because writing them took too long")

    async def publish_moved(self, conn: Conn, locations: Collection[PartLocation], state: ObjectState) -> None:
        """Publishes objects to which rows were pointed. Some of these rows may have been gone, or have changed: what no
        row names was perhaps erased meanwhile, so that it does not wait for anything. Raises Collision."""
        await self.publish(conn, locations, state)
        numbers = list({location.object for location in locations})
        await sql.run(conn, "erase_unnamed", objects=numbers)
        await sql.run(conn, "doom_objects", objects=numbers)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def read_parts(self, locations: Collection[PartLocation]) -> Mapping[PartLocation, bytes]:
        found = {location: part for location in locations if (part := self._cached(location)) is not None}
        by_object: dict[int, list[PartLocation]] = {}
        for location in sorted({*locations} - found.keys()):
            by_object.setdefault(location.object, []).append(location)
        if by_object:
            keys, reads = await self._keys_of(by_object), asyncio.Semaphore(_READS)
            async with self._turn():
                results = await asyncio.gather(
                    *[self._read_object(reads, keys.get(number), wanted) for number, wanted in by_object.items()],
                    return_exceptions=True,
                )
            for parts in results:
                if isinstance(parts, BaseException):
                    raise parts
                found |= parts
        return found

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        """Waits until few others wait for the object store. Raises ObjectStoreUnavailable if they take long."""
        try:
            async with asyncio.timeout(_TURN_SECONDS):
                await self._questions.acquire()
        except TimeoutError as error:
            raise ObjectStoreUnavailable(
                "the object store is slow, and other questions wait for it: ask again later"
            ) from error
        try:
            yield
        finally:
            self._questions.release()

    async def _read_object(
        self, reads: asyncio.Semaphore, key: str | None, wanted: Sequence[PartLocation]
    ) -> Mapping[PartLocation, bytes]:
        if key is None:
            raise ContentCorrupt(f"object {wanted[0].object} is not known: restore the database from a newer backup")
        store = self._store()
        async with reads:
            for _ in range(_READ_ATTEMPTS):  # wrong bytes are most often of a connection that was cut
                parts = await self._fetched(store, key, wanted)
                if await asyncio.to_thread(_are_right, wanted, parts):
                    for location, part in zip(wanted, parts, strict=True):
                        self._keep(location, part)
                    return dict(zip(wanted, parts, strict=True))
        raise ContentCorrupt(
            f"the object store has other bytes in {key} than were written: restore this object from a backup"
        )

    async def _fetched(self, store: ObjectStore, key: str, wanted: Sequence[PartLocation]) -> Sequence[bytes]:
        if self._clock() < self._failing_until:
            raise ObjectStoreUnavailable(self._failure)
        try:
            return await store.get_ranges(key, [(location.start, location.length) for location in wanted])
        except ObjectGone as error:
            raise ContentCorrupt(
                f"the object store has no {key} any more: restore this object from a backup"
            ) from error
        except ObjectStoreUnavailable as error:
            self._failing_until, self._failure = self._clock() + _FAILING_SECONDS, str(error)
            raise

    async def _keys_of(self, numbers: Collection[int]) -> Mapping[int, str]:
        if unknown := [number for number in numbers if number not in self._keys]:
            async with self._db.reading() as conn:
                rows = await sql.rows(conn, "object_keys", objects=unknown)
            self._keys |= {row["object"]: row["key"] for row in rows}
        return self._keys

    def _store(self) -> ObjectStore:
        if self._objects is None:
            raise ObjectStoreUnavailable("contents are in an object store, and none is set: set PLAYHEAD_OBJECT_STORE")
        return self._objects

    def _cached(self, location: PartLocation) -> bytes | None:
        if (part := self._kept.get(location)) is not None:
            self._kept.move_to_end(location)
        return part

    def _keep(self, location: PartLocation, part: bytes) -> None:
        if location in self._kept or len(part) > _LARGEST_KEPT:
            return
        self._kept[location] = part
        self._kept_bytes += len(part)
        while self._kept_bytes > _KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest)

    # --- deleting, and what is there ----------------------------------------------------------------------------------

    async def check_and_settle(self, wait_s: float, how_many: int) -> int:
        store = self._store()
        async with self._db.reading() as conn:
            pointed = await sql.rows(conn, "pointed_objects", seconds=wait_s, how_many=how_many)
        for row in pointed:
            is_there = await store.size(row["key"]) == row["bytes"]
            if not is_there:
                log.error("the object store lost %s, which it had taken: its contents stay in Postgres", row["key"])
            await self._db.transact(partial(_settle, number=row["object"], is_there=is_there))
        return len(pointed)

    async def delete_doomed(self, grace_s: float) -> int:
        store = self._store()
        async with self._db.transaction() as conn:
            await sql.run(conn, "give_up_writing", seconds=WRITING_SECONDS)
            rows = await sql.rows(conn, "doomed_objects", seconds=grace_s, how_many=_DELETED_AT_A_TIME)
        if rows:
            await store.delete([row["key"] for row in rows])
            numbers = [row["object"] for row in rows]
            async with self._db.transaction() as conn:
                await sql.run(conn, "forget_objects", objects=numbers)
            for number in numbers:
                self._keys.pop(number, None)
        return len(rows)

    async def sizes(self, project_id: int | None = None) -> ObjectSizes:
        async with self._db.reading() as conn:
            row = await sql.row(conn, "object_sizes", project_id=project_id)
        return ObjectSizes(0, 0, 0, 0) if row is None else ObjectSizes(**row)

    async def unknown_keys(self) -> Sequence[str]:
        """Returns keys of objects that no row knows: none, unless somebody else writes there, or an older backup of the
        database was restored."""
        keys = await self._store().keys()
        async with self._db.reading() as conn:
            known = set(await sql.column(conn, "all_object_keys"))
        return [key for key in keys if key not in known]


async def _settle(conn: Conn, *, number: int, is_there: bool) -> None:
    if is_there:
        await sql.run(conn, "settle_object", object=number)
    else:
        await sql.run(conn, "unpoint_object", object=number)
        await sql.run(conn, "doom_objects", objects=[number])


def _groups(parts: Mapping[K, bytes]) -> list[list[K]]:
    """Distributes parts to objects of about OBJECT_BYTES, in their order. A larger part has an object of its own."""
    groups: list[list[K]] = []
    size = 0
    for key, part in parts.items():
        if not groups or size + len(part) > OBJECT_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(key)
        size += len(part)
    return groups


async def _check(store: ObjectStore, key: str, data: bytes) -> None:
    """Reads an object that was just written, and raises ObjectStoreUnavailable if it is not what was written."""
    try:
        found = (await store.get_ranges(key, [(0, len(data))]))[0] if data else b""
    except ObjectGone:
        found = None
    if found != data:
        raise ObjectStoreUnavailable(
            f"the object store gives other bytes than were written to {key}: see that nothing stands between"
        )


def _are_right(wanted: Sequence[PartLocation], parts: Sequence[bytes]) -> bool:
    return len(wanted) == len(parts) and all(
        len(part) == location.length and part_digest(part) == location.digest
        for location, part in zip(wanted, parts, strict=True)
    )
