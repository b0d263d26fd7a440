"""The store's interface for promises: what runs wait for, each answered once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class StoredPromise:
    """A promise. `body`: what is asked; `answer`: None while it is open. Times are the database's, in ns since 1970."""

    id: str
    kind: str
    run: str | None
    body: dict[str, Any]
    created_ns: int
    deadline_ns: int | None
    answer: dict[str, Any] | None
    answered_ns: int | None


@dataclass(frozen=True, slots=True)
class Announcement:
    """An open promise that is to be announced to the webhook, for the `attempt`th time from 1."""

    promise: StoredPromise
    attempt: int


class PromiseTable(Protocol):
    """Promises of runs."""

    async def open_promise(
        self, project_id: int, promise: str, kind: str, run: str | None, body: dict[str, Any], seconds: float | None
    ) -> StoredPromise:
        """Opens it until `seconds` from now (None: for ever). Opening it again changes nothing, and returns it as it
        is, with its answer."""
        ...

    async def answer_promise(self, project_id: int, promise: str, answer: dict[str, Any], *, late: bool) -> bool:
        """Answers it; returns False if it has an answer, its deadline has passed, or it is not known. `late`: the
        answer says that nobody has answered, which counts after the deadline, too."""
        ...

    async def promise(self, project_id: int, promise: str) -> StoredPromise | None:
        """The promise; None: not known."""
        ...

    async def promises(
        self,
        project_id: int,
        *,
        kind: str | None,
        run: str | None,
        is_open: bool | None,
        after: tuple[int, str],
        limit: int,
    ) -> Sequence[StoredPromise]:
        """Promises that meet all conditions, oldest first, after this time in ns and id."""
        ...

    async def take_announcement(
        self, project_id: int, now_ns: int, until_ns: int, max_age_s: float
    ) -> Announcement | None:
        """The promise that has been due for longest, if it is open and no older than `max_age_s`; nobody else gets it
        until `until_ns`.  None: nothing is due.  Raises StoreUnavailable."""
        ...

    async def drop_announcements(self, project_id: int, now_ns: int, max_age_s: float) -> Sequence[str]:
        """Ids of open promises, at most a hundred, that were due to be announced and have become older than `max_age_s`
        or passed their deadline: they are not due any more.  Raises StoreUnavailable."""
        ...

    async def settle_announcement(self, project_id: int, promise: str, due_ns: int | None) -> None:
        """It is due again then; None: it was announced, or is given up."""
        ...
