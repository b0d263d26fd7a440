"""The store's interface for promises: the answers that runs wait for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class StoredPromise:
    """A promise. `body`: the question (`key`, `name`, `action`, `risk`, `details`, `schema`); `answer`: None while the
    promise is open. Times are from the database's clock, in ns since 1970."""

    id: str
    kind: str
    run: str | None
    body: dict[str, Any]
    created_ns: int
    deadline_ns: int | None
    answer: dict[str, Any] | None
    answered_ns: int | None


class PromiseReader(Protocol):
    """Reads what runs wait for."""

    async def open_of(self, project_id: int, run: str) -> Sequence[StoredPromise]:
        """Returns what a run waits for, oldest first, at most 100. A request that it stops is not among it."""
        ...
