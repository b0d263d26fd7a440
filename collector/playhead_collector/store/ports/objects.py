"""The store's interfaces for the object store: whole objects by key, and parts of objects by location.

    parts ─put_parts─▶ objects: writing ─publish, with the rows that name them─▶ live ─named by no row─▶ doomed ─▶ gone

Objects are few and large: an object holds many parts, and a row of Postgres has the location of each.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, Protocol, TypeVar

K = TypeVar("K")

DIGEST_BYTES = 16
"""So many bytes of a part's SHA-256 are kept with its location."""


def part_digest(part: bytes) -> bytes:
    """Returns the digest that is kept with the location of a part."""
    return sha256(part).digest()[:DIGEST_BYTES]


class PartLocation(NamedTuple):
    """Where a part is: the number of its object, the offset and length in bytes, and `part_digest` of it."""

    object: int
    start: int
    length: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class ObjectSizes:
    """What is in the object store: objects and their bytes, and of these the bytes of parts that rows name.
    `doomed_bytes`: of objects that are going to be deleted, which `bytes` leaves out."""

    objects: int
    bytes: int
    named_bytes: int
    doomed_bytes: int


class Moved(NamedTuple):
    """What was moved: contents or packs, and their bytes."""

    items: int
    bytes: int


class ObjectStore(Protocol):
    """Whole objects under keys.  All methods raise ObjectStoreUnavailable when the object store does not answer in
    time, is full, or refuses."""

    async def put(self, key: str, data: bytes) -> None:
        """Writes a new object, durably once this returns. Keys are unique: no object is ever written again."""
        ...

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Returns the bytes at these offsets, each with this length, in as few requests as possible. May return other
        bytes than were written, or fewer: callers check them. Raises ObjectGone when there is no such object."""
        ...

    async def size(self, key: str) -> int | None:
        """Returns the size of an object in bytes; None when there is none."""
        ...

    async def delete(self, keys: Collection[str]) -> None:
        """Deletes objects. Those that do not exist are no error."""
        ...

    async def keys(self, prefix: str = "") -> Sequence[str]:
        """Returns the keys of all objects in the folder `prefix`."""
        ...


class ObjectGone(Exception):
    """There is no object under this key."""


class PartStore(Protocol):
    """Parts of objects: what rows of Postgres name when their bytes are in the object store."""

    @property
    def is_on(self) -> bool:
        """Whether an object store is set."""
        ...

    async def put_parts(self, project_id: int, parts: Mapping[K, bytes]) -> Mapping[K, PartLocation]:
        """Writes parts to new objects, verifies them, and returns the location of each.

        The objects are `writing` until the caller publishes them, in the transaction that stores the locations:
        `objects.publish(conn, locations)`. Objects that are not published within an hour are deleted. Give many parts
        at once: they fill objects of 16 MiB; parts that are given alone become small objects.

        What is not named by a row of the view `object_part` is deleted: a table that stores locations is part of it.

        Raises ObjectStoreUnavailable, StoreUnavailable; nothing has changed then.
        """
        ...

    async def read_parts(self, locations: Collection[PartLocation]) -> Mapping[PartLocation, bytes]:
        """Returns parts, in one request per neighbourhood of parts.  Do not hold a connection to Postgres meanwhile.

        Raises ObjectStoreUnavailable; raises ContentCorrupt if the object store has other bytes, or none."""
        ...

    async def sizes(self, project_id: int | None = None) -> ObjectSizes:
        """Returns what is in the object store, of a project or of all.  Raises StoreUnavailable."""
        ...


class ObjectKeeping(Protocol):
    """Deletes what is stored twice, and objects that no row names.  All methods raise ObjectStoreUnavailable and
    StoreUnavailable."""

    async def check_and_settle(self, wait_s: float, how_many: int) -> int:
        """Deletes the bodies of rows that have been naming an object for `wait_s` seconds. Rows whose object is not as
        it was written stop naming it, and keep their bodies. Returns how many objects were looked at."""
        ...

    async def delete_doomed(self, grace_s: float) -> int:
        """Gives up objects that are being written for too long, and deletes some of those that have been doomed for
        `grace_s` seconds, or have what was erased. Returns how many were deleted."""
        ...


class BodyMoves(Protocol):
    """Moves bodies from rows into the object store.  All methods raise ObjectStoreUnavailable and StoreUnavailable;
    what was moved until then stays moved."""

    async def move_content(self, least_bytes: int) -> Moved:
        """Moves one content of at least so many stored bytes into an object of its own. Nothing is moved when there is
        none, or another mover was faster."""
        ...

    async def large_waiting(self, least_bytes: int) -> int:
        """Returns how many contents are large enough to move."""
        ...

    async def move_packs(self, project_id: int, packs: Sequence[int], *, if_smaller: bool = False) -> Moved:
        """Moves the bodies of these packs into objects of about 16 MiB; their outlines stay. Packs that have moved
        already, or are gone, are left out. Give many packs at once: few make a small object.

        `if_smaller`: without packs whose outlines take half of their bytes or more, which texts that repeat each other
        do. They are not looked at again.
        """
        ...

    async def erase(self) -> int:
        """Takes what was erased or masked out of some objects: they are doomed without a wait, after what rows still
        name of them is written anew. Returns how many were dealt with."""
        ...

    async def tidy(self) -> tuple[int, bool]:
        """Looks at some objects, where the last call ended: those that no row names are doomed, and packs of those that
        are mostly dead are written anew. Returns how many were changed, and whether these were the last objects."""
        ...
