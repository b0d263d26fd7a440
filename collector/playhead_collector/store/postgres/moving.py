"""[store] → retain: moves bodies from rows into the object store: large contents, and packs of warm runs.

    write the object, check it ▶ point the rows, which keep their bytes ▶ wait, check again ▶ delete the bytes

A row is pointed only if it still has the bytes that were written. So nothing is lost when a sweep, a packer or another
mover is at the same rows: what nobody names is deleted.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

import zstandard
from asyncpg import Record

from playhead_collector.errors import CannotDecrypt, ContentCorrupt, KeyDestroyed, WrongEncryptionKey
from playhead_collector.logs import ThrottledLog
from playhead_collector.store.packing import content_packs
from playhead_collector.store.packing.content_packs import OpenPack
from playhead_collector.store.packing.zstd import compress_json
from playhead_collector.store.ports.objects import Moved, PartLocation
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.objects import OBJECT_BYTES, ObjectState, PostgresObjects
from playhead_collector.store.postgres.packs import Packs, decryption, location_of
from playhead_collector.store.postgres.statements import Conn

log = ThrottledLog(logging.getLogger(__name__))

# An object whose named parts are less than this share of it is written anew.
SPARSE_SHARE = 0.5
# With `if_smaller`, a pack stays unless its outline is less than this share of it: reading it costs a request.
WORTH_SHARE = 0.5
# Packs that are read at a time when they move: some 16 MiB.
_PACKS_AT_A_TIME = 512
_OBJECTS_AT_A_TIME, _ERASED_AT_A_TIME = 500, 4


class PostgresMoves:
    """Implements `ports.objects.BodyMoves`."""

    def __init__(self, db: Database, packs: Packs, objects: PostgresObjects) -> None:
        self._db = db
        self._packs = packs
        self._objects = objects
        self._scanned = self._erased = 0  # the objects that were looked at last
        self._unreadable: set[int] = set()
        """Projects whose keys this process does not have."""

    # --- large contents -----------------------------------------------------------------------------------------------

    async def move_content(self, least_bytes: int) -> Moved:
        if (row := await self._next_content(least_bytes)) is None:
            return Moved(0, 0)
        project_id, ref, body = row["project_id"], row["ref"], row["body"]
        async with self._db.reading() as conn:
            try:
                decrypt = await decryption(conn, project_id, "content")
            except (KeyDestroyed, WrongEncryptionKey):  # what it names cannot be known: it stays
                self._unreadable.add(project_id)
                return Moved(0, 0)
            read = await self._packs.dictionaries.reader(conn, project_id, row["encoding"])
        names, size = await asyncio.to_thread(_names_and_size, decrypt, read, body)
        location = (await self._objects.put_parts(project_id, {ref: body}))[ref]

        async def point(conn: Conn) -> int:
            place = {"object": location.object, "start": location.start, "length": location.length}
            changed = await sql.run(
                conn, "point_content", project_id=project_id, ref=ref, digest=location.digest, names=names, size=size,
                **place,
            )  # fmt: skip
            await self._objects.publish_moved(conn, [location], ObjectState.POINTED)
            return changed

        moved = await self._db.transact(point)
        return Moved(moved, moved * len(body))

    async def _next_content(self, least_bytes: int) -> Record | None:
        """Returns a content that may move. It begins at a random ref, so that two movers seldom take the same."""
        async with self._db.reading() as conn:
            projects = await sql.column(conn, "projects_with_large", least=least_bytes)
            for project_id in (project for project in projects if project not in self._unreadable):
                for after in (os.urandom(2), b""):
                    rows = await sql.rows(
                        conn, "contents_to_move", least=least_bytes, project_id=project_id, after=after, how_many=1
                    )
                    if rows:
                        return rows[0]
        return None

    async def large_waiting(self, least_bytes: int) -> int:
        async with self._db.reading() as conn:
            return await sql.value(conn, "large_waiting", least=least_bytes)

    # --- packs --------------------------------------------------------------------------------------------------------

    async def move_packs(self, project_id: int, packs: Sequence[int], *, if_smaller: bool = False) -> Moved:
        moved = Moved(0, 0)
        for start in range(0, len(packs), _PACKS_AT_A_TIME):
            async with self._db.reading() as conn:
                rows = await sql.rows(
                    conn, "packs_to_move", project_id=project_id, packs=packs[start : start + _PACKS_AT_A_TIME],
                    if_smaller=if_smaller,
                )  # fmt: skip
                encodings = {row["encoding"] for row in rows}
                readers = {each: await self._packs.dictionaries.reader(conn, project_id, each) for each in encodings}
                decrypt = await decryption(conn, project_id, "pack")
            for portion in _portions(rows):
                outlines = await asyncio.to_thread(_outlines, portion, decrypt, readers)
                bodies = {row["pack"]: row["body"] for row in portion if row["pack"] in outlines}
                if if_smaller and (kept := [pack for pack in bodies if not _is_worth(bodies[pack], outlines[pack])]):
                    async with self._db.transaction() as conn:
                        await sql.run(conn, "keep_packs", project_id=project_id, packs=kept)
                    bodies = {pack: body for pack, body in bodies.items() if pack not in kept}
                located = await self._objects.put_parts(project_id, bodies)
                count = await self._point_packs(project_id, located, outlines)
                moved = Moved(moved.items + count, moved.bytes + sum(map(len, bodies.values())) * (count > 0))
        return moved

    async def _point_packs(
        self, project_id: int, located: Mapping[int, PartLocation], outlines: Mapping[int, bytes]
    ) -> int:
        places = list(located.values())

        async def point(conn: Conn) -> int:
            changed = await sql.run(
                conn, "point_packs", project_id=project_id, packs=list(located),
                outlines=[outlines[pack] for pack in located],
                objects=[place.object for place in places], starts=[place.start for place in places],
                lengths=[place.length for place in places], digests=[place.digest for place in places],
            )  # fmt: skip
            await self._objects.publish_moved(conn, places, ObjectState.POINTED)
            return changed

        return await self._db.transact(point) if places else 0

    # --- objects that rows name no more -------------------------------------------------------------------------------

    async def tidy(self) -> tuple[int, bool]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "objects_after", after=self._scanned, how_many=_OBJECTS_AT_A_TIME)
        changed = 0
        if empty := [row["object"] for row in rows if not row["named_bytes"]]:
            async with self._db.transaction() as conn:
                changed += await sql.run(conn, "doom_objects", objects=empty)
        for row in rows:
            self._scanned = row["object"]  # one that cannot be read keeps no other waiting
            if row["are_packs"] and row["named_bytes"] < SPARSE_SHARE * row["bytes"]:
                try:
                    await self._write_anew(row["of_project"], row["object"], ObjectState(row["state"]))
                except ContentCorrupt as error:
                    log.warning("an object that is mostly dead cannot be written anew: %s", error)
                else:
                    changed += 1
        is_end = len(rows) < _OBJECTS_AT_A_TIME
        if is_end:
            self._scanned = 0
        return changed, is_end

    async def erase(self) -> int:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "erasing_objects", after=self._erased, how_many=_ERASED_AT_A_TIME)
        empty = [row["object"] for row in rows if not row["named_bytes"]]
        whole = [row["object"] for row in rows if row["named_bytes"] >= row["bytes"]]
        if rows:
            async with self._db.transaction() as conn:
                await sql.run(conn, "doom_objects", objects=empty)
                await sql.run(conn, "nothing_to_erase", objects=whole)
        done = len(empty) + len(whole)
        for row in rows:
            self._erased = row["object"]
            if 0 < row["named_bytes"] < row["bytes"]:
                try:
                    await self._write_anew(row["of_project"], row["object"], ObjectState(row["state"]))
                except ContentCorrupt as error:
                    log.warning("what was erased is still in the object store, in an object that is damaged: %s", error)
                else:
                    done += 1
        if len(rows) < _ERASED_AT_A_TIME:
            self._erased = 0
        return done

    async def _write_anew(self, project_id: int, number: int, state: ObjectState) -> None:
        """Writes the parts of an object that rows name to another one. `state`: that of the object."""
        async with self._db.reading() as conn:
            packs = await sql.rows(conn, "packs_in_object", object=number)
            runs = await sql.rows(conn, "runs_in_object", object=number)
        places: dict[int | UUID, PartLocation] = {row["pack"]: location_of(row) for row in packs}
        places |= {row["run_id"]: location_of(row) for row in runs}
        parts = await self._objects.read_parts(list(places.values()))
        located = await self._objects.put_parts(project_id, {part: parts[place] for part, place in places.items()})

        async def point(conn: Conn) -> None:
            moved_packs = {part: place for part, place in located.items() if not isinstance(part, UUID)}
            moved_runs = {part: place for part, place in located.items() if isinstance(part, UUID)}
            whose = {"project_id": project_id, "from_object": number}
            packs_now, runs_now = _columns_of(moved_packs.values()), _columns_of(moved_runs.values())
            await sql.run(conn, "repoint_packs", packs=list(moved_packs), **whose, **packs_now)
            await sql.run(conn, "repoint_runs", runs=list(moved_runs), **whose, **runs_now)
            await self._objects.publish_moved(conn, list(located.values()), state)
            await sql.run(conn, "doom_objects", objects=[number])

        await self._db.transact(point)


def _columns_of(places: Iterable[PartLocation]) -> dict[str, list[int]]:
    places = list(places)
    return {"objects": [place.object for place in places], "starts": [place.start for place in places]}


def _names_and_size(
    decrypt: Callable[[bytes], bytes], read: Callable[[bytes], bytes], body: bytes
) -> tuple[bytes, int]:
    """Returns the refs in a content, and its size. A damaged one moves as it is: whoever reads it is told."""
    try:
        data = read(decrypt(body))
    except (zstandard.ZstdError, CannotDecrypt):
        return b"", 0
    return b"".join(dict.fromkeys(content_packs.digests_in(data))), len(data)


def _outlines(
    rows: Sequence[Record], decrypt: Callable[[bytes], bytes], readers: Mapping[int, Callable[[bytes], bytes]]
) -> dict[int, bytes]:
    """Returns the outlines of packs by their numbers, without those of damaged packs."""
    outlines: dict[int, bytes] = {}
    for row in rows:
        with suppress(zstandard.ZstdError, CannotDecrypt):
            pack = OpenPack(row["keys"], readers[row["encoding"]](decrypt(row["body"])))
            outlines[row["pack"]] = compress_json(content_packs.outline_of(pack))
    return outlines


def _is_worth(body: bytes, outline: bytes) -> bool:
    return len(outline) < WORTH_SHARE * len(body)


def _portions(rows: Sequence[Record]) -> list[list[Record]]:
    """Distributes packs to objects."""
    portions: list[list[Record]] = []
    size = 0
    for row in rows:
        if not portions or size + len(row["body"]) > OBJECT_BYTES:
            portions.append([])
            size = 0
        portions[-1].append(row)
        size += len(row["body"])
    return portions
