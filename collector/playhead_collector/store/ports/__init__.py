"""The interfaces of the store for other stages, and the values in them.

`store.postgres` implements them; `store.records` those that questions need.  The first parameter of
every method is the id of the project: data of projects is separate.
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
from playhead.project.inputs import Projection, RunInput
from playhead.project.run_row import RunRow
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.ports.changes import ChangeStore
from playhead_collector.store.ports.cohorts import CohortStore
from playhead_collector.store.ports.explanations import ExplanationStore
from playhead_collector.store.ports.forwarding import OutboxStore
from playhead_collector.store.ports.keys import KeyStore
from playhead_collector.store.ports.leases import LeaseStore
from playhead_collector.store.ports.promises import PromiseTable
from playhead_collector.store.ports.retention import RetentionStore
from playhead_collector.store.ports.run_filter import RunFilter as RunFilter
from playhead_collector.store.ports.same_context import SameContextStore
from playhead_collector.store.ports.scores import ScoreReader, ScoreStore
from playhead_collector.store.ports.search import SearchStore
from playhead_collector.store.ports.storage import StorageStore
from playhead_collector.store.ports.uses import UseStore

if TYPE_CHECKING:
    from playhead.project.progress import Progress


@dataclass(frozen=True, slots=True)
class Batch:
    """The data of one request: payload-free spans and log events, and their contents."""

    spans: Sequence[Span] = ()
    logs: Sequence[LogEvent] = ()
    contents: Sequence[Content] = ()
    threads: Sequence[ThreadExtension] = ()


@dataclass(frozen=True, slots=True)
class Ingested:
    """`spans` were in the batch; of these, `duplicates` came in a batch that was sent again as it was.  (A span that
    comes again in other company changes nothing either, but is noticed only when the run is read.)

    `pending`: refs that new spans name and that are not stored yet.  When one comes, the runs that wait have news.
    `dropped`: spans and log events of runs that were deleted; nothing of them was kept.
    `superseded`: what attempts at a run did after another one had taken the run over, which was not kept: so many spans
    and log events, and which attempts took the runs over.
    `new_contents` and `new_bytes`: contents of the batch that were not stored before, and their size.
    """

    spans: int
    duplicates: int
    pending: tuple[ContentRef, ...] = ()
    dropped: int = 0
    new_contents: int = 0
    new_bytes: int = 0
    superseded: int = 0
    takeovers: Mapping[str, int] = field(default_factory=dict[str, int])


class ContentReader(Protocol):
    """Reads contents and threads by their refs, within a project."""

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        """Raises ContentMissing; raises ContentCorrupt if the bytes no longer match.  A thread's ref gives its last
        node's bytes, with media type `THREAD`."""
        ...

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        """The stored ones of these contents, in one round trip."""
        ...

    async def beginning_with(self, project_id: int, beginnings: Sequence[bytes]) -> Sequence[ContentRef]:
        """The refs of stored contents whose digest begins with one of these, each of 16 bytes; one ref for each."""
        ...

    async def awaits(self, project_id: int, ref: ContentRef) -> bool:
        """Whether a run names this content, which is not stored."""
        ...

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        """All nodes from first to last; raises ContentMissing.  A constant number of round trips for any length."""
        ...

    async def threads(self, project_id: int, refs: Sequence[ContentRef], most_nodes: int) -> "ThreadNodes":
        """The nodes of the stored threads among these refs, of as many as have `most_nodes` together; of the first
        whatever its length.  A constant number of round trips."""
        ...


class ContentStore(ContentReader, Protocol):
    """Stores bytes under their ref, within a project."""

    async def put(
        self, project_id: int, contents: Iterable[Content], threads: Iterable[ThreadExtension] = ()
    ) -> Sequence[ContentRef]:
        """Stores contents and threads durably. Storing the same again changes only `last_seen`.

        Returns the parents of threads that are not stored (their extensions are kept, and are whole once the
        parent arrives).
        """
        ...

    async def missing(self, project_id: int, refs: Sequence[ContentRef]) -> Sequence[ContentRef]:
        """The refs of contents or threads that are not stored. Updates `last_seen` of the others."""
        ...

    async def epoch(self, project_id: int) -> str:
        """A text that changes whenever content may have been deleted: a ref is known to be stored within one epoch."""
        ...


class ThreadNodes(NamedTuple):
    """The nodes of some threads, each once; and the threads that were not read, since they were too many."""

    nodes: Mapping[ContentRef, ThreadNode]
    unread: AbstractSet[ContentRef]


class StoredPage(NamedTuple):
    """Spans and log events of one run that are stored together; pages that were stored later have larger numbers."""

    number: int
    spans: Sequence[Span]
    logs: Sequence[LogEvent]


class SpanReader(Protocol):
    """Reads the spans and log events of a run."""

    async def spans(self, project_id: int, run: str) -> Sequence[Span]:
        """All spans of a run, by start time."""
        ...

    async def logs(self, project_id: int, run: str) -> Sequence[LogEvent]:
        """All log events of a run but announcements, by time."""
        ...

    async def span_pages(self, project_id: int, run: str, *, after: int, limit: int) -> Sequence[StoredPage]:
        """What is stored of a run, in pages of at most 256 items, by number; at most `limit` with a number > `after`.

        Several pages may have versions of one span, or the same log event. When pages are merged while somebody reads
        them one after the other, some items are met twice and none is missed."""
        ...


class SpanStore(SpanReader, Protocol):
    """Stores spans and log events, and knows which runs have data that is not projected."""

    async def ingest(self, project_id: int, batch: Batch) -> Ingested:
        """One transaction; durable once this returns.  The same span or log event twice changes nothing; an ended
        span replaces its announcement (`end_ns` None), never the other way round.  Raises StoreUnavailable."""
        ...


async def _start_nothing_over() -> None: ...


async def _read_nothing(_refs: Collection[ContentRef]) -> None: ...


@dataclass(slots=True)
class Footing:
    """What the store need not read again of a run: the number of its projection, the pages of spans that were read with
    the number of items in each, pages of events as (page, first seq, last seq), the number of messages in its
    snapshots, and the depth up to which each lineage of threads was read."""

    projection: int
    pages: dict[int, int]
    event_pages: list[tuple[int, int, int]]
    history: int
    lineages: dict[int, int]


@dataclass(slots=True)
class Kept:
    """The state of a growing run after a projection: that of the projector, and that of the store."""

    progress: "Progress"
    footing: Footing


@dataclass(slots=True)
class RunWork(RunInput):
    """A run under its row lock, with the input of its projection.  Set `result` before leaving the context.

    `kept`: if set, the input is only what is new since that state. After the context, it is the state to keep.
    """

    kept: Kept | None = None
    start_over: Callable[[], Awaitable[None]] = _start_nothing_over
    """Reads the whole run, so that it can be projected from nothing, and sets `kept` to None."""
    read: Callable[[Collection[ContentRef]], Awaitable[None]] = _read_nothing
    """Reads the stored ones of these messages into `messages`, without parts that are stored separately."""
    result: Projection | None = field(default=None)


NOTHING_KEPT: Mapping[str, Kept] = MappingProxyType({})


class Dirty(NamedTuple):
    """A run with data that is not projected, and the stored size of its spans in bytes."""

    project_id: int
    run: str
    bytes: int


class ToPack(NamedTuple):
    """A sealed run with rows that may still be packed, and how often it was put on the list of runs to pack."""

    project_id: int
    run: str
    times: int


class ProjectionReader(Protocol):
    """Reads the projection of each run."""

    async def events(
        self, project_id: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        """Events with after < seq <= upto, in order, at most `limit`: none only when there are none.

        The events that a fork shares with its parent come first; their `run` is the parent."""
        ...

    def event_pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        """The same, page by page, for whole-run questions on long runs."""
        ...

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        """The seq of the event with this id, or of a span's first event; None when there is none."""
        ...

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        """The latest stored state at or before seq, history included."""
        ...

    async def run(self, project_id: int, run: str) -> RunRow | None:
        """One run's summary."""
        ...

    async def runs(
        self, project_id: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        """Newest first; `before` is (started_ns, run) of the last row of the previous page."""
        ...


class EventStore(ProjectionReader, Protocol):
    """Stores the projection of each run: a cache that can be computed from the spans, except for the sealed order."""

    def works(
        self, project_id: int, runs: Sequence[str], *, wait: bool = True, kept: Mapping[str, Kept] = NOTHING_KEPT
    ) -> AbstractAsyncContextManager[Sequence[RunWork]]:
        """Locks the stored ones of these runs against other workers, not against ingest.  A run that another worker has
        locked is waited for, or left out.  Of runs in `kept`, only new data is read, unless another worker has
        projected them since.

        On leaving without error, each `result` that is set is stored in the same transaction and its run is no longer
        dirty (unless more arrived meanwhile: then it stays dirty).  Events have to be numbered 1, 2, 3, ..., those of a
        fork from behind what it shares; only pages that changed are written, and forks that share what changed are
        dirty then.
        """
        ...

    def work(self, project_id: int, run: str) -> AbstractAsyncContextManager[RunWork | None]:
        """The same for one run; None when there is no such run."""
        ...

    async def is_dirty(self, project_id: int, run: str) -> bool | None:
        """Whether the run has spans that are not projected; None when there is no such run."""
        ...

    async def dirty_runs(self, limit: int) -> Sequence[Dirty]:
        """Runs with news, longest waiting first."""
        ...

    async def sealable_runs(self, quiet_since_ns: int, lost_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        """Runs that are ended, projected and not sealed, and received nothing after that time, which is `lost_since_ns`
        if another process has an open call; a fork only after its parent.  Without `settled` runs, which `seal` seals.
        """
        ...

    async def seal(self, quiet_since_ns: int, limit: int) -> int:
        """Seals runs that are `settled` and received nothing after that time. Returns how many."""
        ...

    async def mark_lost(self, own_before_ns: int, foreign_before_ns: int, limit: int) -> int:
        """Gives running runs the status `lost` whose last record arrived before these times, by whether Playhead's SDK
        or another instrumentation recorded them, or before the lease of their process ran out. Returns how many.

        Runs that wait for an answer, whose lease is held, or that are not projected are left as they are. Projecting a
        run anew takes the status back.
        """
        ...

    async def runs_to_pack(self, limit: int) -> Sequence[ToPack]:
        """Sealed runs whose contents and thread nodes may not be packed yet, without those of projects that are being
        swept."""
        ...

    async def pack(self, due: Sequence[ToPack]) -> int:
        """Packs contents and thread nodes that sealed runs of one project name, and indexes which contents each run
        had (see `UseStore`). Returns how many were packed. Readers and writers
        see no difference at any time.  Raises StoreCollision when the lock cannot be had: try again later."""
        ...

    async def leave_unpacked(self, due: Sequence[ToPack]) -> None:
        """Removes runs from the list of runs to pack, until they get new data."""
        ...

    async def shrink(self) -> bool:
        """Frees the space of tables that packing has emptied. Returns False when one was in use: try again later."""
        ...

    async def counts(self) -> Mapping[str, Any]:
        """`{"content_bytes", "database_bytes", "tables": {name: {"rows", "bytes"}}}`, of all projects together, for
        metrics and the demo.  Rows are estimates."""
        ...


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
    """What questions about recorded runs need of a store.  Besides Postgres, `store.records` implements it."""


class Store(
    ReadStore,
    ContentStore,
    SpanStore,
    EventStore,
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
        """Raises StoreUnavailable when the database does not answer."""
        ...

    async def close(self) -> None:
        """Closes the connections; later calls raise."""
        ...
