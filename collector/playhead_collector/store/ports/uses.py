"""The store's interface for where a content was used: which runs had it, and how many model calls were given it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from playhead.model.ref import ContentRef


class ContentUse(NamedTuple):
    """A run that had a content, and the number of its model calls that were given it; 0 if the run only produced it."""

    run: str
    started_ns: int
    calls: int


@dataclass(frozen=True, slots=True)
class UseTotals:
    """The runs that had a content, the number of their model calls that were given it, and when the first and the last
    of these runs began.  `recent` are those of them that were found by reading runs and not in the index, newest first;
    `unread`: whether there are more runs that the index does not have, and that were not read."""

    runs: int
    calls: int
    first_ns: int | None
    last_ns: int | None
    recent: Sequence[ContentUse]
    unread: bool


class UseStore(Protocol):
    """An index of packed runs by what they had; of other runs, the newest are read.

    It is by eight bytes of a ref, so that another content is practically never taken for this one.
    """

    async def use_totals(self, project_id: int, ref: ContentRef) -> UseTotals:
        """Who had the content, counted."""
        ...

    async def uses(
        self, project_id: int, ref: ContentRef, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[ContentUse]:
        """Runs of the index that had the content, newest first, some of `UseTotals.recent` among them; `before` is
        (started_ns, run) of the last one of a page."""
        ...
