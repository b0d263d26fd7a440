"""The store's interface for following runs: what each projection did to the events of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from playhead.model.event import RunEvent


@dataclass(frozen=True, slots=True)
class RunChange:
    """What the projection with this number did to the events of a run.

    Without `was`, the events `known` + 1 to `last` are new.  With it, events from `first` on have other seqs than
    before: `was` has the former seq of each of them, 0 for those that are new.  `altered`: seqs of events that were
    there before and now have other data.  Seqs are those after this projection, except those in `was`.
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
    """A run as it is projected: the number of its newest projection, the number of its events, and whether it is over.

    `is_over`: it has ended, and no part of its record is known to be missing, or nothing was added to it for a while.
    """

    projection: int
    events: int
    status: str
    is_over: bool


class ChangeReader(Protocol):
    """Reads changes and events of a project, all from one moment."""

    async def removed(self) -> int:
        """Changes up to this number are not stored any more."""
        ...

    async def newest(self) -> int:
        """The number of the newest change; 0 when there is none."""
        ...

    async def before(self, time_ns: int) -> int:
        """The number of the newest change that was stored before this time."""
        ...

    async def head(self, run: str) -> RunHead | None:
        """The run as it is projected; None when it is not stored."""
        ...

    async def changes(self, run: str | None, after: int, limit: int) -> Sequence[RunChange]:
        """Changes with greater numbers, in order; of all runs without `run`."""
        ...

    async def moves(self, runs: Iterable[str], after: int) -> Sequence[RunChange]:
        """Changes of these runs with greater numbers that have `was`, in order."""
        ...

    async def events(self, run: str, after: int, upto: int) -> Sequence[RunEvent]:
        """Events with after < seq <= upto, in order."""
        ...


class ChangeStore(Protocol):
    """Tells which events are new, and when there are any."""

    def reading_changes(self, project_id: int) -> AbstractAsyncContextManager[ChangeReader]:
        """A reader on one connection.  Raises StoreUnavailable."""
        ...

    async def positions(self, project_id: int, runs: Sequence[str]) -> Mapping[str | None, int]:
        """The numbers of the newest projections of these runs, and of the project's newest change under None."""
        ...

    def listening(self, on_change: Callable[[int, Sequence[str]], None]) -> AbstractAsyncContextManager[object]:
        """While the block runs, calls `on_change` with a project and runs that have changes, on the event loop.

        Calls may be missing after the database was unavailable: ask for `positions` from time to time.
        Raises StoreUnavailable.
        """
        ...
