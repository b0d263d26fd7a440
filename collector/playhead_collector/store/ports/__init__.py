"""What the stages right of the store may ask of it: the promises, and the values that cross.

`store.postgres` keeps these promises on Postgres.  Every method takes the project first: nothing crosses projects.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from playhead.model.canonical import Content
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import ThreadNode
from playhead.project.inputs import Projection, RunInput
from playhead.project.progress import Progress
from playhead.project.run_row import RunRow
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.ports.explanations import ExplanationStore
from playhead_collector.store.ports.keys import KeyStore
from playhead_collector.store.ports.leases import LeaseStore
from playhead_collector.store.ports.retention import RetentionStore


@dataclass(frozen=True, slots=True)
class Batch:
    """What one request brought, payload-free spans apart from contents."""

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
    """

    spans: int
    duplicates: int
    pending: tuple[ContentRef, ...] = ()
    dropped: int = 0


class ContentStore(Protocol):
    """Keeps bytes under the ref that names them, within a project."""

    async def put(
        self, project: int, contents: Iterable[Content], threads: Iterable[ThreadExtension] = ()
    ) -> Sequence[ContentRef]:
        """Durable once this returns; putting the same again changes nothing but `last_seen`.

        Returns the parents of threads that are not stored (their extensions are kept, and are whole once the
        parent arrives).
        """
        ...

    async def missing(self, project: int, refs: Sequence[ContentRef]) -> Sequence[ContentRef]:
        """Those that are not stored, contents or threads.  Touches `last_seen` of those that are."""
        ...

    async def get(self, project: int, ref: ContentRef) -> Content:
        """Raises ContentMissing; raises ContentCorrupt if the bytes no longer match.  A thread's ref gives its last
        node's bytes, with media type `THREAD`."""
        ...

    async def get_many(self, project: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        """Those that are stored; one round trip whatever the number."""
        ...

    async def thread(self, project: int, ref: ContentRef) -> Sequence[ThreadNode]:
        """All nodes from first to last; raises ContentMissing.  A constant number of round trips for any length."""
        ...

    async def epoch(self, project: int) -> str:
        """Changes whenever stored content may have gone: what a client believes to be here holds for one epoch."""
        ...


class SpanStore(Protocol):
    """Keeps spans and log events, and knows which runs have news."""

    async def ingest(self, project: int, batch: Batch) -> Ingested:
        """One transaction; durable once this returns.  The same span or log event twice changes nothing; an ended
        span replaces its announcement (`end_ns` None), never the other way round.  Raises StoreUnavailable."""
        ...

    async def spans(self, project: int, run: str) -> Sequence[Span]:
        """All spans of a run, by start time."""
        ...

    async def logs(self, project: int, run: str) -> Sequence[LogEvent]:
        """All log events of a run but announcements, by time."""
        ...


@dataclass(frozen=True, slots=True)
class RunFilter:
    """All conditions must hold; None means any.  `text` is looked for in name, session, user, agents and tags,
    `id_part` (lower-case hex digits) in the run's id."""

    agent: str | None = None
    status: str | None = None
    session: str | None = None
    user: str | None = None
    tag: str | None = None
    model: str | None = None
    tool: str | None = None
    fork_of: str | None = None
    text: str | None = None
    id_part: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None


async def _start_nothing_over() -> None: ...


async def _read_nothing(_refs: Collection[ContentRef]) -> None: ...


@dataclass(slots=True)
class Footing:
    """What the store knows of a run that it need not read again: the number of its projection, pages of spans that were
    read with the items in each, pages of events each as (page, first seq, last seq), how many messages its snapshots
    have, and up to which depth nodes of each lineage of threads were read."""

    projection: int
    pages: dict[int, int]
    event_pages: list[tuple[int, int, int]]
    history: int
    lineages: dict[int, int]


@dataclass(slots=True)
class Kept:
    """A run that goes on, as it was left: what the projector keeps of it, and the store."""

    progress: Progress
    footing: Footing


@dataclass(slots=True)
class RunWork(RunInput):
    """A run under its row lock, with all that projecting it needs.  Set `result` before leaving the context.

    `kept`: what there is, is only what is new since then.  When the context was left, it is what to keep now.
    """

    kept: Kept | None = None
    start_over: Callable[[], Awaitable[None]] = _start_nothing_over
    """Reads all of the run, so that it can be projected from nothing; `kept` is None then."""
    read: Callable[[Collection[ContentRef]], Awaitable[None]] = _read_nothing
    """Puts those that are stored into `messages`, without the parts that are stored apart."""
    result: Projection | None = field(default=None)


NOTHING_KEPT: Mapping[str, Kept] = MappingProxyType({})


class Dirty(NamedTuple):
    """A run with news, and how much is stored of its spans, in bytes."""

    project: int
    run: str
    bytes: int


class ToPack(NamedTuple):
    """A sealed run of which something may still be packed, and how often it was said so."""

    project: int
    run: str
    times: int


class EventStore(Protocol):
    """Keeps the projection of each run; a cache of what spans say, except for sealed order."""

    def works(
        self, project: int, runs: Sequence[str], *, wait: bool = True, kept: Mapping[str, Kept] = NOTHING_KEPT
    ) -> AbstractAsyncContextManager[Sequence[RunWork]]:
        """Locks the runs that are there for other workers, not for ingest.  Where somebody else has locked one, it is
        waited for, or left out.  Of runs that are `kept`, only what is new is read, unless somebody else has projected
        them since.

        On leaving without error, each `result` that is set is stored in the same transaction and its run is no longer
        dirty (unless more arrived meanwhile: then it stays dirty).  Events have to be numbered 1, 2, 3, ..., those of a
        fork from behind what it shares; only pages that changed are written, and forks that share what changed are
        dirty then.
        """
        ...

    def work(self, project: int, run: str) -> AbstractAsyncContextManager[RunWork | None]:
        """The same for one run; None when there is no such run."""
        ...

    async def is_dirty(self, project: int, run: str) -> bool | None:
        """Whether spans arrived that are not projected; None when there is no such run."""
        ...

    async def dirty_runs(self, limit: int) -> Sequence[Dirty]:
        """Runs with news, longest waiting first."""
        ...

    async def sealable_runs(self, quiet_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        """Ended, projected, not sealed, and nothing arrived after that time; a fork only after its parent.  Without
        those that are `settled`: `seal` does them."""
        ...

    async def seal(self, quiet_since_ns: int, limit: int) -> int:
        """Seals runs that are `settled` and of which nothing arrived after that time; how many it was."""
        ...

    async def runs_to_pack(self, limit: int) -> Sequence[ToPack]:
        """Sealed runs whose contents and thread nodes may still stand in rows of their own; none of projects that are
        being swept."""
        ...

    async def pack(self, due: Sequence[ToPack]) -> int:
        """Packs contents and thread nodes that sealed runs of one project name; how many it was.  Nobody who reads or
        stores sees a difference, whether it is finished or not.  Raises StoreCollision: others were in the way, try
        again later."""
        ...

    async def leave_unpacked(self, due: Sequence[ToPack]) -> None:
        """Takes runs off the list of those to pack, until they have news."""
        ...

    async def shrink(self) -> bool:
        """Gives back the space of tables that packing has emptied; False: one was in use, try again later."""
        ...

    async def events(
        self, project: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        """Events with after < seq <= upto, in order, at most `limit`: none only when there are none.

        What a fork shares with its parent comes first, and says in `run` whose it is."""
        ...

    def event_pages(self, project: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        """The same, page by page, for whole-run questions on long runs."""
        ...

    async def seq_of(self, project: int, run: str, event_id: str) -> int | None:
        """Where the event with this id stands."""
        ...

    async def calls_with_thread(self, project: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        """(run, seq) of model calls that had this thread as context, as projected; newest runs first.  One among
        billions may be another thread's: compare its event."""
        ...

    async def snapshot(self, project: int, run: str, seq: int) -> RunState | None:
        """The latest stored state at or before seq, history included."""
        ...

    async def run(self, project: int, run: str) -> RunRow | None:
        """One run's summary."""
        ...

    async def runs(
        self, project: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        """Newest first; `before` is (started_ns, run) of the last row of the previous page."""
        ...

    async def counts(self) -> Mapping[str, Any]:
        """`{"content_bytes", "database_bytes", "tables": {name: {"rows", "bytes"}}}`, of all projects together, for
        metrics and the demo.  Rows are estimates."""
        ...


class Store(ContentStore, SpanStore, EventStore, ExplanationStore, LeaseStore, KeyStore, RetentionStore, Protocol):
    """All of it, on one pool."""

    async def ready(self) -> None:
        """Raises StoreUnavailable when the database does not answer."""
        ...

    async def close(self) -> None:
        """Gives connections back; later calls raise."""
        ...
