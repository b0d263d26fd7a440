"""The store's interface for projects."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLimits:
    """What a project may send and have stored; None: as much as it likes.

    `spans_per_second` counts spans and log events; `bytes_per_day` bodies of requests, not compressed, per day (UTC);
    `stored_bytes` the rows and indexes of the project.
    """

    spans_per_second: int | None = None
    bytes_per_day: int | None = None
    stored_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project. `created_ns`: ns since 1970. `key_destroyed`: it is encrypted, and nobody can read it any more."""

    number: int
    name: str
    created_ns: int
    limits: StoredLimits = StoredLimits()
    encrypted: bool = False
    key_destroyed: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """What arrived of a project: spans and log events, and bytes of request bodies, not compressed."""

    spans: int = 0
    bytes: int = 0

    def __add__(self, other: "Arrived") -> "Arrived":
        return Arrived(self.spans + other.spans, self.bytes + other.bytes)


class ProjectStore(Protocol):
    """Stores the projects.  All methods raise StoreUnavailable."""

    async def all(self) -> Sequence[ProjectRow]:
        """Returns all projects that are in use, the first one first."""
        ...

    async def create(self, name: str, *, encrypted: bool = False) -> ProjectRow | None:
        """Makes a project without limits; returns None when the name is taken.

        `encrypted`: with a key of its own; raises WrongEncryptionKey if the operator's key cannot wrap it.
        """
        ...

    async def check_keys(self) -> None:
        """Unwraps the keys of all encrypted projects. Raises WrongEncryptionKey."""
        ...

    async def destroy_key(self, project_id: int) -> bool:
        """Destroys the key of an encrypted project; returns False when it has none."""
        ...

    def forget_keys(self, readable: Collection[int]) -> None:
        """Drops the keys of all projects but these from memory."""
        ...

    async def limit(self, project_id: int, limits: StoredLimits) -> bool:
        """Sets the limits of a project; returns False when there is no such project."""
        ...

    async def delete(self, project_id: int) -> bool:
        """Takes a project out of use, and removes its keys; returns False when there is no such project.

        Its rows are removed by `remove_deleted`.
        """
        ...

    async def remove_deleted(self, rows: int) -> int:
        """Removes at most so many rows of a project that was deleted; returns how many. 0: nothing is left."""
        ...

    async def add_arrived(self, arrived: Mapping[int, Arrived]) -> Mapping[int, Arrived]:
        """Adds to what arrived today, by project; returns what arrived today at all collectors, of all projects."""
        ...
