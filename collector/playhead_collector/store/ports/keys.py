"""What [store] promises about keys: who may do what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key, without the key itself: of that, only its SHA-256 is kept.  `expires_ns` None: never."""

    number: int
    name: str
    prefix: str
    scopes: tuple[str, ...]
    digest: bytes
    created_ns: int
    expires_ns: int | None = None
    last_used_ns: int | None = None


class KeyStore(Protocol):
    """Keeps a project's keys."""

    async def keys(self, project: int) -> Sequence[ApiKey]:
        """All of them, expired ones too, oldest first.  Raises StoreUnavailable."""
        ...

    async def add_key(
        self, project: int, name: str, prefix: str, digest: bytes, scopes: Sequence[str], seconds: float | None
    ) -> ApiKey:
        """A new key that expires after so many seconds, None: never.  Raises StoreUnavailable."""
        ...

    async def remove_key(self, project: int, number: int) -> bool:
        """It is a key no more; False when it was none.  Raises StoreUnavailable."""
        ...

    async def use_keys(self, project: int, numbers: Sequence[int]) -> None:
        """Notes that these were used in this hour.  Raises StoreUnavailable."""
        ...
