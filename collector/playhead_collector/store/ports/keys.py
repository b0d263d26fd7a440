"""The store's interface for API keys."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key of a project. Only the SHA-256 of its secret is stored. `expires_ns` None: it never expires."""

    project_id: int
    number: int
    name: str
    prefix: str
    scopes: tuple[str, ...]
    digest: bytes
    created_ns: int
    expires_ns: int | None = None
    last_used_ns: int | None = None

    def is_valid(self, now_ns: int) -> bool:
        """Returns whether the key has not expired at this time."""
        return self.expires_ns is None or self.expires_ns > now_ns


MayRemove: TypeAlias = Callable[[ApiKey, Sequence[ApiKey]], None]


class KeyReader(Protocol):
    """Reads the API keys of all projects."""

    async def of_all_projects(self) -> Sequence[ApiKey]:
        """Returns the keys of all projects, including expired ones.  Raises StoreUnavailable."""
        ...

    async def note_used(self, project_id: int, numbers: Sequence[int]) -> None:
        """Records that these keys were used in the current hour.  Raises StoreUnavailable."""
        ...


class KeyStore(KeyReader, Protocol):
    """Stores the API keys of projects."""

    async def all(self, project_id: int) -> Sequence[ApiKey]:
        """Returns all keys, including expired ones, oldest first.  Raises StoreUnavailable."""
        ...

    async def add(
        self, project_id: int, name: str, prefix: str, digest: bytes, scopes: Sequence[str], seconds: float | None
    ) -> ApiKey:
        """Adds a key that expires after `seconds` (None: never).  Raises StoreUnavailable."""
        ...

    async def remove(self, project_id: int, number: int, may_remove: MayRemove) -> bool:
        """Removes a key; returns False when there is no such key.  Raises StoreUnavailable.

        `may_remove` is called with the key and the other keys, which cannot change meanwhile. An error that it raises
        is passed on.
        """
        ...
