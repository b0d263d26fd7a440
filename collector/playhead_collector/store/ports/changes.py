"""The store's interface for following runs: how each projection changed the events of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from playhead.model.event import RunEvent


@dataclass(frozen=True, slots=True)
class RunChange:
    """The difference that the projection with this number made to the events of a run.

    Without `was`, events `known` + 1 to `last` are new.  With `was`, the events from `first` on have other seqs than
    before: `was` has the former seq of each of them, 0 for new events.  `altered`: seqs of events that existed before
    and now have other data.  All seqs except those in `was` are seqs after this projection.
    """

    projection: int
    run: str
    first: int
    last: int
    known: int
    altered: tuple[int, ...] = ()
    was: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunHead:
    """The state of a run's newest projection: its number, the number of events, the run's status, and whether the run
    is over.

    `is_over`: the run has ended, and either no part of its record is known to be missing, or nothing was added for a
    while.
    """

    projection: int
    events: int
    status: str
    is_over: bool


class ChangeReader(Protocol):
    """Reads changes and events of a project from one snapshot of the database."""

    async def removed(self) -> int:
        """Returns the number up to which changes are no longer stored."""
        ...

    async def newest(self) -> int:
        """Returns the number of the newest change; 0 when there is none."""
        ...

    async def before(self, time_ns: int) -> int:
        """Returns the number of the newest change that was stored before this time."""
        ...

    async def head(self, run: str) -> RunHead | None:
        """Returns the state of the run's newest projection; None when the run is not stored."""
        ...

    async def changes(self, run: str | None, after: int, limit: int) -> Sequence[RunChange]:
        """Returns changes with a number > `after`, in order, at most `limit`. `run` None: changes of all runs."""
        ...

    async def moves(self, runs: Iterable[str], after: int) -> Sequence[RunChange]:
        """Returns those changes of these runs with a number > `after` that have `was`, in order."""
        ...

    async def events(self, run: str, after: int, upto: int) -> Sequence[RunEvent]:
        """Returns events of the run with after < seq <= upto, in order."""
        ...


class ChangeStore(Protocol):
    """Reads which events are new, and notifies about new ones."""

    def reading(self, project_id: int) -> AbstractAsyncContextManager[ChangeReader]:
        """Yields a reader that sees one snapshot of the database, on one connection.  Raises StoreUnavailable."""
        ...

    async def positions(self, project_id: int, runs: Sequence[str]) -> Mapping[str | None, int]:
        """Returns the numbers of the newest projections of these runs, and under None the number of the project's
        newest change."""
        ...

    def listening(self, on_change: Callable[[int, Sequence[str]], None]) -> AbstractAsyncContextManager[object]:
        """While the block runs, calls `on_change` on the event loop with the project and those of its runs that
        changed.

        Calls may be missed while the database is unavailable, so read `positions` from time to time. Raises
        StoreUnavailable.
        """
        ...
