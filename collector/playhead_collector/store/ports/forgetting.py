"""The store's interface for erasure: requests to forget runs and conversations, and how far they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from uuid import UUID

SelectedBy = Literal["run", "session", "user", "scope"]
ForgettingPhase = Literal["runs", "scan", "sessions", "conversations", "contents", "done"]


@dataclass(frozen=True, slots=True)
class Selector:
    """What is to be forgotten: a run by its id, or the runs and conversations of a session, a user or a scope."""

    by: SelectedBy
    value: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What a selector finds now. `runs`: at most as many as were asked for. `forks`: runs that were forked from them
    and are not among them. `destinations`: number of runs that each destination of forwarding gets. `candidates`:
    contents and thread nodes that they name; None if there are many runs."""

    runs: Sequence[str]
    forks: Sequence[str]
    conversations: int
    destinations: Mapping[str, int]
    candidates: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgettingRow:
    """A request to forget, and what was done for it. Times are ns since 1970.

    `contents`: contents and thread nodes that were erased; `of_others`: those that stay, because others name them;
    `candidates`: all that the forgotten named. `held_until_ns`: when the rest of them is erased; None: there is none.
    """

    job: UUID
    phase: ForgettingPhase
    requested_ns: int
    completed_ns: int | None
    held_until_ns: int | None
    runs: int
    conversations: int
    candidates: int
    contents: int
    of_others: int
    requested_by: str | None
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])


class ForgettingStore(Protocol):
    """Forgets runs and conversations, in steps.  All methods raise StoreUnavailable."""

    async def select(self, project_id: int, selector: Selector, limit: int) -> Selection:
        """Returns what a request would forget; changes nothing."""
        ...

    async def begin(
        self, project_id: int, job: UUID, selector: Selector, *, forks: bool, requested_by: str | None, hold_ns: int
    ) -> None:
        """Stores a request. The same one again changes nothing. What was stored or named within `hold_ns` is erased
        after that time."""
        ...

    async def step(self, project_id: int, job: UUID) -> bool:
        """Makes the next step of a request, well under a second. Returns False when there is nothing to do at present:
        it is complete, it waits, or another collector makes a step."""
        ...

    async def jobs(self, project_id: int, job: UUID | None, limit: int) -> Sequence[ForgettingRow]:
        """Returns requests, the newest first; `job`: this one alone."""
        ...

    async def open_jobs(self) -> Sequence[tuple[int, UUID]]:
        """Returns project and id of the requests that are not complete, of all projects."""
        ...

    async def erasing_due(self) -> Sequence[int]:
        """Returns projects with contents that are to be erased now."""
        ...
