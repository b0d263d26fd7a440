"""The store's interface for uses: which runs had a content, and which model calls had exactly the same context."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from playhead.model.ref import ContentRef


class ContentUse(NamedTuple):
    """A run that had a content, and the number of its model calls with the content as input; 0 if the run only produced
    it."""

    run: str
    started_ns: int
    calls: int


@dataclass(frozen=True, slots=True)
class UseTotals:
    """Totals of all runs that had a content: number of runs, number of model calls with the content as input, and the
    starts of the first and the last of these runs (None: there is no run).

    `recent`: those runs that were found by reading them and not in the index, newest first. `unread`: whether there are
    more runs that are not in the index and were not read.
    """

    runs: int
    calls: int
    first_ns: int | None
    last_ns: int | None
    recent: Sequence[ContentUse]
    unread: bool


class EventRange(NamedTuple):
    """The events of a run with after < seq <= upto, without events shared with a parent."""

    run: str
    after: int
    upto: int


class SameContext(NamedTuple):
    """The model call at seq `here` of the requested run had the same context as the call at `seq` of `run`."""

    here: int
    run: str
    seq: int


class UseReader(Protocol):
    """Finds the runs that had a content, and the model calls that had a context.

    Both are indexed by eight bytes of a ref. Mistaking another content for this one is practically impossible. For
    model calls, compare the thread in the call's event. Only packed runs are in the index of contents; the newest of
    the other runs are read. Runs that were thinned are in no index.
    """

    async def totals(self, project_id: int, ref: ContentRef) -> UseTotals:
        """Returns the totals of the content's uses."""
        ...

    async def is_any_left_out(self, project_id: int) -> bool:
        """Returns whether the project has runs that are in no index and are not read: those that were thinned."""
        ...

    async def page(
        self, project_id: int, ref: ContentRef, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[ContentUse]:
        """Returns runs in the index that had the content, newest first; these may include some of `UseTotals.recent`.
        `before`: (started_ns, run) of the last one of the previous page."""
        ...

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        """Returns (run, seq) of projected model calls that had this thread as context, newest runs first."""
        ...

    async def runs_with_same_context(
        self, project_id: int, parts: Sequence[EventRange], *, without: Sequence[str], limit: int
    ) -> Sequence[SameContext]:
        """Returns other runs with a model call that had the same context as a call in these parts of a run. Runs that
        match a later call come first; runs that match the same call are sorted by run id.

        Each other run is returned once, with the latest call here that matches and the first call there that has its
        context. `limit` bounds both the matches of each context and the result. Runs in `without` are left out.
        """
        ...
