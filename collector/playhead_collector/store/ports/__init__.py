"""The interfaces that the store has for other stages, and the values in them.

`store.postgres` implements all of them; `store.records` implements `ReadStore`.  The first parameter of most methods is
the id of the project: the data of projects is separate.

This module has the interfaces for contents, spans, projections and explanations, and puts all together as `Store`; the
other modules of this folder have the interfaces for one subject each.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from playhead.model.canonical import Content
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import ThreadNode
from playhead.projection.inputs import Projection, RunInput
from playhead.projection.run_row import RunRow
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.ports.changes import ChangeStore
from playhead_collector.store.ports.cohorts import CohortStore
from playhead_collector.store.ports.cohorts import RunFilter as RunFilter
from playhead_collector.store.ports.keys import KeyStore
from playhead_collector.store.ports.leases import LeaseStore
from playhead_collector.store.ports.outbox import OutboxStore
from playhead_collector.store.ports.promises import PromiseTable
from playhead_collector.store.ports.retention import RetentionStore
from playhead_collector.store.ports.scores import ScoreReader, ScoreStore
from playhead_collector.store.ports.search import SearchStore
from playhead_collector.store.ports.storage import StorageStore
from playhead_collector.store.ports.uses import SameContextStore, UseStore

if TYPE_CHECKING:
    from playhead.projection.progress import ProjectionState


# --- contents and threads --------------------------------------------------------------------------------------------


class ThreadNodes(NamedTuple):
    """The nodes of some threads, each once, and the refs of the threads that were not read because of the limit."""

    nodes: Mapping[ContentRef, ThreadNode]
    unread: AbstractSet[ContentRef]


class ContentReader(Protocol):
    """Reads contents and threads by their refs, within a project."""

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        """Returns the content. For the ref of a thread, returns the bytes of the thread's last node, with media type
        `THREAD`.

        Raises ContentMissing; raises ContentCorrupt if the stored bytes do not match the ref.
        """
        ...

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        """Returns the given contents that are stored, in a few round trips for any number of refs."""
        ...

    async def refs_with_prefix(self, project_id: int, prefixes: Sequence[bytes]) -> Sequence[ContentRef]:
        """Returns the refs of stored contents whose digest begins with one of these prefixes, which have 16 bytes each.
        In practice, a prefix has one ref."""
        ...

    async def is_awaited(self, project_id: int, ref: ContentRef) -> bool:
        """Returns whether a run names this content and the content is not stored."""
        ...

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        """Returns all nodes of a thread from first to last. Raises ContentMissing. Needs a few round trips, not one per
        message; a packed thread needs more if it is in several packs."""
        ...

    async def threads(self, project_id: int, refs: Sequence[ContentRef], most_nodes: int) -> ThreadNodes:
        """Returns the nodes of the given threads that are stored, as long as all of them together have at most
        `most_nodes`. The first thread is read whatever its length. Needs a few round trips, like `thread`."""
        ...


class ContentStore(ContentReader, Protocol):
    """Stores contents under their refs, within a project."""

    async def put(
        self, project_id: int, contents: Iterable[Content], threads: Iterable[ThreadExtension] = ()
    ) -> Sequence[ContentRef]:
        """Stores contents and threads durably. Storing the same again changes only `last_seen`.

        Returns the parents of extensions whose parent is not stored. Such extensions are kept, and become readable once
        the parent arrives.
        """
        ...

    async def missing(self, project_id: int, refs: Sequence[ContentRef]) -> Sequence[ContentRef]:
        """Returns the refs of contents and threads that are not stored. Updates `last_seen` of the others."""
        ...

    async def epoch(self, project_id: int) -> str:
        """Returns a text that changes whenever contents may have been deleted. A sender may assume that a stored ref is
        still stored only while the epoch is the same."""
        ...


# --- spans -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """The data of one request: spans and log events without payloads, and the contents and threads that they refer
    to."""

    spans: Sequence[Span] = ()
    logs: Sequence[LogEvent] = ()
    contents: Sequence[Content] = ()
    threads: Sequence[ThreadExtension] = ()


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of `ingest`.

    `spans`: the number of spans in the batch.
    `duplicates`: how many ended ones came in a batch that was sent again unchanged. (A span that comes again in a
    different batch changes nothing either, but is noticed only when the run is read.)
    `pending`: refs that new spans name and that are not stored yet. When one arrives, the runs that wait for it have
    news.
    `dropped`: the number of spans and log events of deleted runs; nothing of them was kept.
    `superseded`: the number of spans and log events that an earlier attempt at a run recorded after a later attempt had
    taken the run over; they were not kept. `takeovers`: the later attempt, by run.
    `new_contents`, `new_bytes`: contents of the batch that were not stored before, and their size in bytes.
    """

    spans: int
    duplicates: int
    pending: tuple[ContentRef, ...] = ()
    dropped: int = 0
    new_contents: int = 0
    new_bytes: int = 0
    superseded: int = 0
    takeovers: Mapping[str, int] = field(default_factory=dict[str, int])


class StoredPage(NamedTuple):
    """Spans and log events of one run that are stored together. A page that was stored later has a larger number."""

    number: int
    spans: Sequence[Span]
    logs: Sequence[LogEvent]


class SpanReader(Protocol):
    """Reads the spans and log events of a run."""

    async def spans(self, project_id: int, run: str) -> Sequence[Span]:
        """Returns all spans of a run, by start time."""
        ...

    async def logs(self, project_id: int, run: str) -> Sequence[LogEvent]:
        """Returns all log events of a run except announcements, by time."""
        ...

    async def span_pages(self, project_id: int, run: str, *, after: int, limit: int) -> Sequence[StoredPage]:
        """Returns stored spans and log events of a run in pages of at most 256 items, by page number: at most `limit`
        pages with a number > `after`.

        Several pages may have versions of the same span, or the same log event. If pages are merged while a caller
        reads them one after the other, the caller may get some items twice, but misses none.
        """
        ...


class SpanStore(SpanReader, Protocol):
    """Stores spans and log events, and records which runs have data that is not projected."""

    async def ingest(self, project_id: int, batch: Batch) -> Ingested:
        """Stores the batch in one transaction; it is durable once this returns.  Storing the same span or log event
        twice changes nothing. An ended span replaces its announcement (`end_ns` None), never the other way round.
        Raises StoreUnavailable."""
        ...


# --- projections -----------------------------------------------------------------------------------------------------


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


class ProjectionReader(Protocol):
    """Reads the projections of runs."""

    async def events(
        self, project_id: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        """Returns events with after < seq <= upto, in order, at most `limit`. An empty list means that there are no
        more.

        The events that a fork shares with its parent come first; their `run` is the parent.
        """
        ...

    def event_pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        """Yields the events with seq > after, page by page, for questions that read all of a long run."""
        ...

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        """Returns the seq of the event with this id, or of the first event of the span with this id; None when there is
        none."""
        ...

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        """Returns the latest stored state at or before seq, with its history; None when there is none."""
        ...

    async def run(self, project_id: int, run: str) -> RunRow | None:
        """Returns the summary of a run; None when there is no such run."""
        ...

    async def runs(
        self, project_id: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        """Returns the summaries of runs that match the filter, newest first. `before`: (started_ns, run) of the last
        row of the previous page."""
        ...


class ProjectionStore(ProjectionReader, Protocol):
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

    async def unprojected_runs(self, limit: int) -> Sequence[UnprojectedRun]:
        """Returns runs with data that is not projected, longest waiting first."""
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

    async def runs_to_pack(self, limit: int) -> Sequence[UnpackedRun]:
        """Returns sealed runs whose contents and thread nodes may not be packed yet, without those of projects in which
        a sweep is running."""
        ...

    async def pack(self, due: Sequence[UnpackedRun]) -> int:
        """Packs the contents and thread nodes that sealed runs of one project name, and indexes which contents each run
        had (see `UseStore`). Returns how many were packed. Readers and writers see no difference at any time.  Raises
        StoreCollision when the lock is not available: try again later."""
        ...

    async def skip_packing(self, due: Sequence[UnpackedRun]) -> None:
        """Removes runs from the list of runs to pack, until they get new data."""
        ...

    async def shrink(self) -> bool:
        """Frees the space of tables that packing has emptied. Returns False when a table was in use: try again
        later."""
        ...

    async def counts(self) -> Mapping[str, Any]:
        """Returns `{"content_bytes", "database_bytes", "tables": {name: {"rows", "bytes"}}}` for all projects together,
        for metrics and the demo.  Rows are estimates."""
        ...


# --- explanations ----------------------------------------------------------------------------------------------------


class ExplanationStore(Protocol):
    """A cache of explanations. The key is the content that the model got as input, and the model."""

    async def explanation(self, project_id: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        """Returns the ref of the explanation by this model, or by any model if `model` is None; None when there is
        none."""
        ...

    async def keep_explanation(
        self, project_id: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        """Stores an explanation durably, and replaces an earlier one by the same model. It is deleted with the run, and
        not stored if the run was deleted."""
        ...


# --- the whole store -------------------------------------------------------------------------------------------------


class ReadStore(
    ContentReader,
    SpanReader,
    ProjectionReader,
    SameContextStore,
    ExplanationStore,
    ScoreReader,
    CohortStore,
    UseStore,
    Protocol,
):
    """All interfaces that questions about recorded runs need.  Implemented on Postgres and by `store.records`."""


class Store(
    ReadStore,
    ContentStore,
    SpanStore,
    ProjectionStore,
    ChangeStore,
    LeaseStore,
    PromiseTable,
    KeyStore,
    OutboxStore,
    RetentionStore,
    ScoreStore,
    SearchStore,
    StorageStore,
    Protocol,
):
    """The whole store, on one pool of connections."""

    async def ready(self) -> None:
        """Returns if the database answers; otherwise raises StoreUnavailable."""
        ...

    async def close(self) -> None:
        """Closes the connections. Later calls raise."""
        ...
