"""The store's interface for projecting: which runs have new data, their input under a lock, sealing and packing."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from playhead.model.ref import ContentRef
from playhead.projection.inputs import Projection, RunInput

if TYPE_CHECKING:
    from playhead.projection.progress import ProjectionState


async def _start_nothing_over() -> None: ...


async def _read_nothing(_refs: Collection[ContentRef]) -> None: ...


@dataclass(slots=True)
class ProjectionCursor:
    """Position up to which the store has read a growing run, so that it reads only new rows.

    `projection`: the number of the run's projection. `pages`: the pages of spans that were read, with the number of
    items in each. `event_pages`: pages of events as (page, first seq, last seq). `history`: the number of messages in
    the run's snapshots. `lineages`: the depth up to which each lineage of threads was read.
    """

    projection: int
    pages: dict[int, int]
    event_pages: list[tuple[int, int, int]]
    history: int
    lineages: dict[int, int]


@dataclass(slots=True)
class CachedRun:
    """The state of a growing run after a projection: `progress` is the projector's, `cursor` the store's."""

    progress: "ProjectionState"
    cursor: ProjectionCursor


@dataclass(slots=True)
class RunWork(RunInput):
    """A run under its row lock, with the input of its projection.  Set `result` before leaving the context.

    `cached`: if set, the input has only what is new since that state. After the context, it is the state to keep.
    """

    cached: CachedRun | None = None
    start_over: Callable[[], Awaitable[None]] = _start_nothing_over
    """Reads the whole run, so that it can be projected from nothing, and sets `cached` to None."""
    read: Callable[[Collection[ContentRef]], Awaitable[None]] = _read_nothing
    """Reads the stored ones of these messages into `messages`, without parts that are stored separately."""
    result: Projection | None = field(default=None)


NO_CACHED_RUNS: Mapping[str, CachedRun] = MappingProxyType({})


class UnprojectedRun(NamedTuple):
    """A run with data that is not projected, and the stored size of its spans in bytes."""

    project_id: int
    run: str
    bytes: int


class UnpackedRun(NamedTuple):
    """A sealed run with rows that may still have to be packed. `times`: how often the run was put on the list of runs
    to pack."""

    project_id: int
    run: str
    times: int


class ProjectionStore(Protocol):
    """Stores the projection of each run. It is a cache that can be computed from the spans, except for the order of a
    sealed run's events."""

    def locked_runs(
        self,
        project_id: int,
        runs: Sequence[str],
        *,
        wait: bool = True,
        cached: Mapping[str, CachedRun] = NO_CACHED_RUNS,
    ) -> AbstractAsyncContextManager[Sequence[RunWork]]:
        """Locks the given runs that are stored, and yields their input. The lock excludes other workers, but not
        ingest.  `wait`: waits for runs that another worker has locked; otherwise they are left out.  Of runs in
        `cached`, only new data is read, unless another worker has projected them since.

        On leaving without error, each `result` that is set is stored in the same transaction, and its run is no longer
        dirty (unless more data arrived meanwhile).  Events have to be numbered 1, 2, 3, ...; those of a fork begin
        after the shared events.  Only pages that changed are written. Forks that share changed events become dirty.

        Raises StoreCollision.
        """
        ...

    def locked_run(self, project_id: int, run: str) -> AbstractAsyncContextManager[RunWork | None]:
        """The same as `locked_runs` for one run; yields None when there is no such run."""
        ...

    async def has_unprojected_data(self, project_id: int, run: str) -> bool | None:
        """Returns whether the run has data that is not projected; None when there is no such run."""
        ...

    async def unprojected_runs(self, limit: int, project_id: int | None = None) -> Sequence[UnprojectedRun]:
        """Returns runs with data that is not projected, longest waiting first, of this project; None: of all projects,
        which take turns."""
        ...

    async def sealable_runs(self, quiet_since_ns: int, lost_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        """Returns (project, run) of runs that have ended, are projected, are not sealed, and have received nothing
        since `quiet_since_ns`, or since `lost_since_ns` if another process still has an open call.  A fork is returned
        only after its parent is sealed.  Runs that are `settled` are left out: `seal` seals them."""
        ...

    async def seal(self, quiet_since_ns: int, limit: int) -> int:
        """Seals runs that are `settled` and have received nothing since `quiet_since_ns`. Returns how many."""
        ...

    async def mark_lost(self, own_before_ns: int, foreign_before_ns: int, limit: int) -> int:
        """Gives running runs the status `lost` if their last record arrived too long ago. Returns how many.

        Too long ago means: before `own_before_ns` for runs that Playhead's SDK recorded, before `foreign_before_ns` for
        those of other instrumentations, or before the lease of the run's process ran out. Runs that wait for an answer,
        whose lease is held, or that are not projected are left as they are. Projecting a run again removes the status.
        """
        ...

    async def runs_to_pack(self, limit: int, *, without: Sequence[int] = ()) -> Sequence[UnpackedRun]:
        """Returns sealed runs whose contents and thread nodes may not be packed yet, without those of the projects
        `without`, and of projects in which a sweep is running."""
        ...

    async def pack(self, due: Sequence[UnpackedRun]) -> int:
        """Packs the contents and thread nodes that sealed runs of one project name, and indexes which contents each run
        had (see `UseReader`). Returns how many were packed. Readers and writers see no difference at any time.  Raises
        StoreCollision when the lock is not available: try again later."""
        ...

    async def skip_packing(self, due: Sequence[UnpackedRun]) -> None:
        """Removes runs from the list of runs to pack, until they get new data."""
        ...

    async def measure_older(self) -> int:
        """Fills in size and kind of some contents that an older version stored. Returns how many; 0: none are left."""
        ...

    async def shrink(self) -> bool:
        """Frees the space of tables that packing has emptied. Returns False when a table was in use: try again
        later."""
        ...
