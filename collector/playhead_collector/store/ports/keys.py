"""The store's interface for API keys."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key. Of its secret, only the SHA-256 is stored. `expires_ns` None: it never expires."""

    number: int
    name: str
    prefix: str
    scopes: tuple[str, ...]
    digest: bytes
    created_ns: int
    expires_ns: int | None = None
    last_used_ns: int | None = None

    def is_valid(self, now_ns: int) -> bool:
        """Whether it has not expired."""
        return self.expires_ns is None or self.expires_ns > now_ns


MayRemove: TypeAlias = Callable[[ApiKey, Sequence[ApiKey]], None]


class KeyStore(Protocol):
    """Stores a project's keys."""

    async def keys(self, project_id: int) -> Sequence[ApiKey]:
        """All keys, including expired ones, oldest first.  Raises StoreUnavailable."""
        ...

    async def add_key(
        self, project_id: int, name: str, prefix: str, digest: bytes, scopes: Sequence[str], seconds: float | None
    ) -> ApiKey:
        """Adds a key that expires after so many seconds (None: never).  Raises StoreUnavailable."""
        ...

    async def remove_key(self, project_id: int, number: int, may_remove: MayRemove) -> bool:
        """Removes a key; returns False when there is no such key.  Raises StoreUnavailable.

        `may_remove` is called with the key and the others, which do not change meanwhile; what it raises is raised.
        """
        ...

    async def use_keys(self, project_id: int, numbers: Sequence[int]) -> None:
        """Notes that these keys were used in this hour.  Raises StoreUnavailable."""
        ...
