"""The store's interface for promises: answers that runs wait for. Each promise is answered at most once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class StoredPromise:
    """A promise. `body`: the question; `answer`: None while the promise is open. Times are from the database's clock,
    in ns since 1970."""

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
    """An open promise to send to the webhook. `attempt`: the number of this attempt, from 1."""

    promise: StoredPromise
    attempt: int


class PromiseTable(Protocol):
    """Promises of runs."""

    async def open_promise(
        self, project_id: int, promise: str, kind: str, run: str | None, body: dict[str, Any], seconds: float | None
    ) -> StoredPromise:
        """Opens the promise until `seconds` from now (None: without a deadline) and returns it. If it exists already,
        changes nothing and returns the stored promise with its answer."""
        ...

    async def answer_promise(self, project_id: int, promise: str, answer: dict[str, Any], *, late: bool) -> bool:
        """Stores the answer. Returns False if the promise has an answer, its deadline has passed, or it does not exist.

        `late`: the answer is that nobody answered in time; it is stored even after the deadline.
        """
        ...

    async def promise(self, project_id: int, promise: str) -> StoredPromise | None:
        """Returns the promise; None if it does not exist."""
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
        """Returns promises that meet all conditions (None: any), oldest first. `after`: creation time in ns and id of
        the last promise of the previous page."""
        ...

    async def take_announcement(
        self, project_id: int, now_ns: int, until_ns: int, max_age_s: float
    ) -> Announcement | None:
        """Returns the open promise whose announcement has been due for longest, if it is no older than `max_age_s`. No
        other worker gets it until `until_ns`.  None: nothing is due.  Raises StoreUnavailable."""
        ...

    async def drop_announcements(self, project_id: int, now_ns: int, max_age_s: float) -> Sequence[str]:
        """Cancels announcements that are due, of open promises that are older than `max_age_s` or whose deadline has
        passed. Returns the ids of these promises, at most a hundred per call.  Raises StoreUnavailable."""
        ...

    async def settle_announcement(self, project_id: int, promise: str, due_ns: int | None) -> None:
        """Sets when the announcement is due again. None: the promise was announced, or announcing is given up."""
        ...
